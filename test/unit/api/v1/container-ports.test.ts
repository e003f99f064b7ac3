import { expect, test } from "bun:test";
import { resolvePort, type ContainerPort } from "../../../../src/api/v1/container-ports.ts";
import { type PortReference } from "../../../../src/api/v1/container-ports.ts";

const ports: readonly ContainerPort[] = [
  { name: "http", containerPort: 8080, protocol: "TCP" },
  { containerPort: 9090, protocol: "TCP" },
  { name: "81", containerPort: 8181, protocol: "TCP" },
];

const cases: Record<string, [PortReference, number | undefined]> = {
  "a number is itself, whether the container declares it or not": [80, 80],
  "a name is the port that carries it": ["http", 8080],
  "an unknown name is nothing": ["https", undefined],
  "digits are a number": ["443", 443],
  "digits that are a port's name are that port": ["81", 8181],
  "0 is no port": [0, undefined],
  "65536 is no port": [65_536, undefined],
  "the empty name is nothing": ["", undefined],
  "a number of too many digits is nothing": ["99999", undefined],
};
test.each(Object.entries(cases))("%s", (_, [reference, expected]) => {
  expect(resolvePort(reference, ports)).toBe(expected);
});
