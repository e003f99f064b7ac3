// Performs: a directory whose files change atomically: readers see one complete version through `..data`, and a crash
// leaves the old or the new one. Unchanged content is not written. kubelet: AtomicWriter
//
//   ..3/app.conf               a version, complete before it becomes visible
//   ..data -> ..3              renamed into place: this is the change
//   app.conf -> ..data/app.conf

import { topName } from "../api/validation/nested-mounts.ts";
import type { FileInfo, Files } from "../host/files.ts";
import type { ProjectedFile, ProjectedFiles } from "./projection.ts";

export interface AtomicContent {
  readonly files: ProjectedFiles;
  /** Empty directories, as mount points of other volumes. */
  readonly directories: readonly string[];
  /** Owns all files and may read them. */
  readonly group?: number | undefined;
}

/** The entries of the root, and the version that readers see. */
interface Present {
  readonly there: readonly FileInfo[];
  readonly current: string | undefined;
}

const DATA = "..data";
const NEXT_DATA = "..data_tmp";
const VERSION = /^\.\.([1-9][0-9]*)$/;
const DIRECTORY_MODE = 0o755;
/** Permission of a file's group. kubelet: SetVolumeOwnership of a read-only volume */
const GROUP_READS = 0o440;

export class AtomicDirectory {
  readonly root: string;
  readonly #files: Files;
  readonly #isHeld: (version: string) => boolean;

  /** Only this object writes to `root`. `isHeld`: whether a container still has a directory of this version mounted. */
  constructor(files: Files, root: string, isHeld: (version: string) => boolean = () => false) {
    this.root = root;
    this.#files = files;
    this.#isHeld = isHeld;
  }

  /** Whether it was ever written. */
  get isWritten(): boolean {
    return this.#files.readLink(`${this.root}/${DATA}`) !== undefined;
  }

  /** True if readers see different content now. Nothing is synced: the directory is in memory. */
  write(content: AtomicContent): boolean {
    const there = this.#files.list(this.root);
    const current = isIn(there, DATA) ? this.#files.readLink(`${this.root}/${DATA}`) : undefined;
    const isCurrent = current !== undefined && this.#holds(current, content);
    const version = isCurrent ? current : this.#writeVersion(content, { current, there });
    this.#showFiles(content, there);
    this.#makeDirectories(this.root, this.#outside(content));
    this.#removeOthers(version, there);
    return !isCurrent;
  }

  #holds(version: string, { files, group }: AtomicContent): boolean {
    const there = this.#filesIn(`${this.root}/${version}`, "");
    if (there.size !== files.size) return false;
    return [...files].every(([path, file]) => {
      const info = there.get(path);
      return info !== undefined && this.#isSame(`${version}/${path}`, info, { file, group });
    });
  }

  #isSame(
    path: string,
    { kind, mode, size }: FileInfo,
    { file, group }: { readonly file: ProjectedFile; readonly group: number | undefined },
  ): boolean {
    const wanted = group === undefined ? file.mode : file.mode | GROUP_READS;
    if (kind !== "file" || mode !== wanted || size !== file.bytes.length) return false;
    const bytes = this.#files.read(`${this.root}/${path}`, size);
    return bytes.length === size && bytes.every((byte, index) => byte === file.bytes[index]);
  }

  /** All entries but directories, by their path below `directory`. */
  #filesIn(directory: string, prefix: string): ReadonlyMap<string, FileInfo> {
    const found = new Map<string, FileInfo>();
    if (this.#files.info(directory)?.kind !== "directory") return found;
    for (const info of this.#files.list(directory)) {
      const path = `${prefix}${info.name}`;
      if (info.kind !== "directory") found.set(path, info);
      else
        for (const [below, file] of this.#filesIn(`${directory}/${info.name}`, `${path}/`))
          found.set(below, file);
    }
    return found;
  }

  #writeVersion(content: AtomicContent, { current, there }: Present): string {
    const files = this.#files;
    const version = `..${Number(VERSION.exec(current ?? "")?.[1] ?? 0) + 1}`;
    const directory = `${this.root}/${version}`;
    // Left incomplete by a crash.
    if (isIn(there, version)) files.removeTree(directory);
    this.#makeDirectories(directory, ["", ...directoriesOf(content.files), ...inside(content)]);
    for (const [path, { bytes, mode }] of content.files)
      files.writeLazily(`${directory}/${path}`, bytes, mode);
    if (content.group !== undefined)
      files.shareTree(directory, { group: content.group, readOnly: true, unlessRootFits: false });
    if (isIn(there, NEXT_DATA)) files.remove(`${this.root}/${NEXT_DATA}`);
    files.makeLink(`${this.root}/${NEXT_DATA}`, version);
    files.rename(`${this.root}/${NEXT_DATA}`, `${this.root}/${DATA}`);
    return version;
  }

  #makeDirectories(root: string, paths: readonly string[]): void {
    for (const path of paths) this.#files.makeDirectory(`${root}/${path}`, DIRECTORY_MODE);
  }

  /** `there`: the entries of the root before. */
  #showFiles({ files }: AtomicContent, there: readonly FileInfo[]): void {
    const kinds = new Map(there.map(({ name, kind }) => [name, kind]));
    const shown = topNames(files.keys());
    for (const name of shown) {
      const path = `${this.root}/${name}`;
      const target = `${DATA}/${name}`;
      const kind = kinds.get(name);
      if (kind === "symlink" && this.#files.readLink(path) === target) continue;
      if (kind === "directory") this.#files.removeEmptyDirectory(path);
      this.#files.makeLink(path, target);
    }
    for (const [name, kind] of kinds)
      if (kind === "symlink" && name !== DATA && !shown.has(name))
        this.#files.remove(`${this.root}/${name}`);
  }

  #outside({ files, directories }: AtomicContent): readonly string[] {
    const shown = topNames(files.keys());
    return directories.filter((path) => !shown.has(topName(path)));
  }

  #removeOthers(version: string, there: readonly FileInfo[]): void {
    const others = there.filter(({ name }) => VERSION.test(name) && name !== version);
    for (const { name } of others)
      if (!this.#isHeld(name)) this.#files.removeTree(`${this.root}/${name}`);
  }
}

function isIn(there: readonly FileInfo[], wanted: string): boolean {
  return there.some(({ name }) => name === wanted);
}

/** Directories below a name that links into the version. */
function inside({ files, directories }: AtomicContent): readonly string[] {
  const shown = topNames(files.keys());
  return directories.filter((path) => shown.has(topName(path)) && !files.has(path));
}

function topNames(paths: Iterable<string>): ReadonlySet<string> {
  return new Set([...paths].map(topName));
}

/** Every parent directory of the files, outer ones first. */
function directoriesOf(files: ProjectedFiles): readonly string[] {
  const found = [...files.keys()].flatMap((path) => {
    const names = path.split("/").slice(0, -1);
    return names.map((_, index) => names.slice(0, index + 1).join("/"));
  });
  return [...new Set(found)];
}
