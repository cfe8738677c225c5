import { basename, join } from 'node:path';
import type { Weights, WeightsFolder, WeightsSource } from '../core/weights.ts';

/** Paths in the models folder that belong to one set of weights. */
export interface WeightsFiles {
  readonly file: string;
  readonly record: string;
  readonly lock: string;
  readonly hubPartial: string;
  readonly hubState: string;
  readonly packagesPartial: string;
  readonly packagesParts: string;
  /** Folder of weights that consist of several files. */
  readonly folder: string;
  readonly folderRecord: string;
  readonly folderWork: string;
}

const SUFFIXES: Record<keyof WeightsFiles, string> = {
  file: '.gguf',
  record: '.gguf.json',
  lock: '.lock',
  hubPartial: '.hub.partial',
  hubState: '.hub.partial.json',
  packagesPartial: '.packages.partial',
  packagesParts: '.parts',
  folder: '.onnx',
  folderRecord: '.onnx.json',
  folderWork: '.work',
};

export function getWeightsFiles(folder: string, id: string): WeightsFiles {
  const toPath = (kind: keyof WeightsFiles): string => join(folder, `${id}${SUFFIXES[kind]}`);
  return {
    file: toPath('file'),
    record: toPath('record'),
    lock: toPath('lock'),
    hubPartial: toPath('hubPartial'),
    hubState: toPath('hubState'),
    packagesPartial: toPath('packagesPartial'),
    packagesParts: toPath('packagesParts'),
    folder: toPath('folder'),
    folderRecord: toPath('folderRecord'),
    folderWork: toPath('folderWork'),
  };
}

/** Returns the paths that an unfinished download may leave. */
export const listUnfinishedFiles = (files: WeightsFiles): readonly string[] => [
  files.hubPartial,
  files.hubState,
  files.packagesPartial,
  files.packagesParts,
  files.folderWork,
];

/** Returns the paths of finished weights, a file or a folder, and of their records. */
export const listFinishedFiles = (files: WeightsFiles): readonly string[] => [
  files.file,
  files.record,
  files.folder,
  files.folderRecord,
];

/** Parses a name in the models folder into the weights' id and the kind of file; undefined for other names. */
export function parseWeightsFileName(name: string): { id: string; kind: keyof WeightsFiles } | undefined {
  for (const kind of KINDS) {
    const suffix = SUFFIXES[kind];
    if (name.length > suffix.length && name.endsWith(suffix)) return { id: name.slice(0, -suffix.length), kind };
  }
  return undefined;
}

const KINDS: readonly (keyof WeightsFiles)[] = [
  'record',
  'file',
  'lock',
  'hubState',
  'hubPartial',
  'packagesPartial',
  'packagesParts',
  'folderRecord',
  'folder',
  'folderWork',
];

/** Returns the file names under which these weights may be stored: Parley's, and those of their sources. */
export function listKnownFileNames({ id, sources }: Weights): readonly string[] {
  return [...new Set([`${id}.gguf`, ...sources.flatMap(listSourceFileNames)])];
}

function listSourceFileNames(source: WeightsSource): string[] {
  if (source.type === 'hub') return [basename(source.file)];
  const [only, ...others] = source.type === 'packages' ? source.parts : [];
  return only && others.length === 0 ? [basename(only.member)] : [];
}

/** Describes a source for records and messages. */
export function describeSource(source: WeightsSource): string {
  if (source.type === 'hub') return `hub ${source.repository}/${source.file} at ${source.revision}`;
  if (source.type === 'file') return `file ${source.path}`;
  const first = source.parts[0];
  const more = source.parts.length > 1 ? ` and ${source.parts.length - 1} more` : '';
  return `packages ${first ? `${first.package}==${first.version}` : ''}${more}`;
}

/** Describes the packages of a weights folder for records and messages. */
export function describeFolder({ files, conversion }: WeightsFolder): string {
  const sources = [...(conversion ? [conversion.source] : []), ...files.map(({ source }) => source)];
  const named = new Set(sources.flatMap(({ parts }) => parts.map((part) => `${part.package}==${part.version}`)));
  return `packages ${[...named].join(', ')}${conversion ? `, converted from ${conversion.layout}` : ''}`;
}
