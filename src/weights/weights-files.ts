import { basename, join } from 'node:path';
import type { Weights, WeightsFolder, WeightsSource } from '../core/weights.ts';

/** Everything that may lie in the models folder on behalf of one set of weights. */
export interface WeightsFiles {
  readonly file: string;
  readonly record: string;
  readonly lock: string;
  readonly hubPartial: string;
  readonly hubState: string;
  readonly packagesPartial: string;
  readonly packagesParts: string;
  /** Of weights that are several files. */
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

export function filesOf(folder: string, id: string): WeightsFiles {
  const at = (kind: keyof WeightsFiles): string => join(folder, `${id}${SUFFIXES[kind]}`);
  return {
    file: at('file'),
    record: at('record'),
    lock: at('lock'),
    hubPartial: at('hubPartial'),
    hubState: at('hubState'),
    packagesPartial: at('packagesPartial'),
    packagesParts: at('packagesParts'),
    folder: at('folder'),
    folderRecord: at('folderRecord'),
    folderWork: at('folderWork'),
  };
}

/** What is left of a download that did not finish. */
export const unfinishedFiles = (files: WeightsFiles): readonly string[] => [
  files.hubPartial,
  files.hubState,
  files.packagesPartial,
  files.packagesParts,
  files.folderWork,
];

/** What is finished, where it is: a file or a folder, and what is known of it. */
export const finishedFiles = (files: WeightsFiles): readonly string[] => [
  files.file,
  files.record,
  files.folder,
  files.folderRecord,
];

/** Which weights a name in the models folder belongs to; undefined for names that are not ours. */
export function ownerOf(name: string): { id: string; kind: keyof WeightsFiles } | undefined {
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

/** Names under which people keep these weights: ours, and those the file has at its sources. */
export function knownFileNames({ id, sources }: Weights): readonly string[] {
  return [...new Set([`${id}.gguf`, ...sources.flatMap(sourceFileName)])];
}

function sourceFileName(source: WeightsSource): string[] {
  if (source.type === 'hub') return [basename(source.file)];
  const [only, ...others] = source.type === 'packages' ? source.parts : [];
  return only && others.length === 0 ? [basename(only.member)] : [];
}

/** For records and messages. */
export function describeSource(source: WeightsSource): string {
  if (source.type === 'hub') return `hub ${source.repository}/${source.file} at ${source.revision}`;
  if (source.type === 'file') return `file ${source.path}`;
  const first = source.parts[0];
  const more = source.parts.length > 1 ? ` and ${source.parts.length - 1} more` : '';
  return `packages ${first ? `${first.package}==${first.version}` : ''}${more}`;
}

/** The same of weights that are a folder. */
export function describeFolder({ files, conversion }: WeightsFolder): string {
  const sources = [...(conversion ? [conversion.source] : []), ...files.map(({ source }) => source)];
  const named = new Set(sources.flatMap(({ parts }) => parts.map((part) => `${part.package}==${part.version}`)));
  return `packages ${[...named].join(', ')}${conversion ? `, converted from ${conversion.layout}` : ''}`;
}
