import { basename, dirname } from 'node:path/posix';
import { listPartFiles, parsePartName } from '../core/split-model-file.ts';
import type { RepositoryFile } from './hub-index.ts';

/** A model in a repository, in one file or in several parts. */
export interface ModelFile {
  /** Path of the file, or of its first part. */
  readonly file: string;
  /** Name of the quantization in upper case, as the file's name has it; empty if it has none. */
  readonly quantization: string;
  /** Size of all parts. */
  readonly sizeBytes: number;
  /** Hashes of all parts, in order; absent if one is unknown. */
  readonly hashes?: readonly string[];
}

/** Files that belong to a model but are none: projectors for images, drafts for speculation, data of quantization. */
const NO_MODEL = /mmproj|imatrix|(^|[-_./])mtp[-_./]/i;

const QUANTIZATION = /(?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|FP16|F32)(?=[-._]|$)/gi;

/** Finds the models among the files of a repository, in the order of their size. Split files count if all parts are there. */
export function findModelFiles(files: readonly RepositoryFile[]): readonly ModelFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return files
    .filter(({ path }) => /\.gguf$/i.test(path) && !NO_MODEL.test(path) && (parsePartName(path)?.part ?? 1) === 1)
    .flatMap(({ path }) => {
      const parts = listPartFiles(path).flatMap((part) => byPath.get(part) ?? []);
      if (parts.length < listPartFiles(path).length) return [];
      const hashes = parts.flatMap(({ sha256 }) => sha256 ?? []);
      return [
        {
          file: path,
          quantization: findQuantization(path),
          sizeBytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
          ...(hashes.length === parts.length ? { hashes } : {}),
        },
      ];
    })
    .toSorted((one, other) => one.sizeBytes - other.sizeBytes);
}

/** Finds the last quantization in the file's name, else in that of its folder. */
function findQuantization(path: string): string {
  const stem = basename(parsePartName(path)?.stem ?? path.replace(/\.gguf$/i, ''));
  const found = [stem, basename(dirname(path))].flatMap((name) => name.match(QUANTIZATION)?.at(-1) ?? []);
  return found[0]?.toUpperCase() ?? '';
}

/** Quantizations of about four bits, the best compromise of quality, size and speed, in the order of preference. */
const PREFERRED = [
  'Q4_K_M',
  'UD-Q4_K_M',
  'UD-Q4_K_XL',
  'MXFP4',
  'MXFP4_MOE',
  'Q4_K_S',
  'Q4_K_L',
  'IQ4_XS',
  'IQ4_NL',
  'Q4_0',
  'Q4_1',
];

/**
 * Chooses one of the models that fit: of four bits, else the smallest of more bits, else the largest of fewer bits.
 * @param fits Whether a model of so many bytes fits the machine.
 */
export function chooseModelFile(
  models: readonly ModelFile[],
  fits: (sizeBytes: number) => boolean,
): ModelFile | undefined {
  const fitting = models.filter(({ sizeBytes }) => fits(sizeBytes));
  for (const wanted of PREFERRED) {
    const found = fitting.find(({ quantization }) => quantization === wanted);
    if (found) return found;
  }
  const isSmall = ({ quantization }: ModelFile): boolean => /(^|-)I?[QT]+[123]_/.test(quantization);
  return fitting.find((model) => !isSmall(model)) ?? fitting.at(-1);
}

/** Returns whether a quantization has the given name, in any case and with or without the prefix `UD-`. */
export function matchesQuantization({ quantization }: ModelFile, name: string): boolean {
  const wanted = name.toUpperCase();
  return quantization === wanted || quantization === `UD-${wanted}`;
}
