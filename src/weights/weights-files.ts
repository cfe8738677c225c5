import { basename, join } from 'node:path';
import type { Weights, WeightsFolder, WeightsSource } from '../core/weights.ts';

/** Suffixes of finished weights, a file or a folder of several files, and of their records. */
const FINISHED_SUFFIXES = { file: '.gguf', record: '.gguf.json', folder: '.onnx', folderRecord: '.onnx.json' } as const;

/** Suffixes of what an unfinished download may leave. */
const UNFINISHED_SUFFIXES = {
  hubPartial: '.hub.partial',
  hubState: '.hub.partial.json',
  packagesPartial: '.packages.partial',
  packagesParts: '.parts',
  folderWork: '.work',
} as const;

const SUFFIXES = { ...FINISHED_SUFFIXES, ...UNFINISHED_SUFFIXES, lock: '.lock' } as const;

type WeightsFileKind = keyof typeof SUFFIXES;

/** Paths in the models folder that belong to one set of weights. */
export type WeightsFiles = Readonly<Record<WeightsFileKind, string>>;

const listKinds = <Suffixes extends object>(suffixes: Suffixes) => Object.keys(suffixes) as (keyof Suffixes)[];

export const getWeightsFiles = (folder: string, id: string): WeightsFiles =>
  Object.fromEntries(
    Object.entries(SUFFIXES).map(([kind, suffix]) => [kind, join(folder, `${id}${suffix}`)]),
  ) as WeightsFiles;

/** Returns the paths that an unfinished download may leave. */
export const listUnfinishedFiles = (files: WeightsFiles): readonly string[] =>
  listKinds(UNFINISHED_SUFFIXES).map((kind) => files[kind]);

/** Returns the paths of finished weights, a file or a folder, and of their records. */
export const listFinishedFiles = (files: WeightsFiles): readonly string[] =>
  listKinds(FINISHED_SUFFIXES).map((kind) => files[kind]);

/** Whether files of the kind belong to finished weights. */
export const isFinishedKind = (kind: WeightsFileKind): boolean => kind in FINISHED_SUFFIXES;

/** Parses a name in the models folder into the weights' id and the kind of file; undefined for other names. */
export function parseWeightsFileName(name: string): { id: string; kind: WeightsFileKind } | undefined {
  const kind = listKinds(SUFFIXES).find((each) => name.length > SUFFIXES[each].length && name.endsWith(SUFFIXES[each]));
  return kind && { id: name.slice(0, -SUFFIXES[kind].length), kind };
}

/**
 * Returns the paths in a folder under which these weights may be stored: Parley's name, and those of their sources, also in
 * the folders of a hub's repository.
 */
export function listKnownFileNames({ id, sources }: Weights): readonly string[] {
  return [...new Set([`${id}.gguf`, ...sources.flatMap(listSourceFileNames)])];
}

function listSourceFileNames(source: WeightsSource): string[] {
  if (source.type === 'hub') return [basename(source.file), `${source.repository}/${source.file}`];
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
