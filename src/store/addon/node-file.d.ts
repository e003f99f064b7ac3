// A native addon imported with { type: "file" } is the path of its bytes.
declare module "*.node" {
  const path: string;
  export = path;
}
