import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../../core/error.ts';
import { createFile, replaceFile } from '../../../lib/durable-file.ts';
import { removeInvisibleCharacters } from '../../../lib/remove-invisible-characters.ts';

const FORMATS = ['md', 'html'] as const;

export type ReportFormat = (typeof FORMATS)[number];

/** Destination of a report: standard output or the files `<stem>.<format>`. */
export type ReportTarget =
  | { readonly type: 'stdout' }
  | {
      readonly type: 'files';
      readonly stem: string;
      readonly formats: readonly ReportFormat[];
      readonly canOverwrite: boolean;
    };

interface TargetOptions {
  /**
   * `-` for standard output, a folder (exists or ends in a slash), or a file; .md or .html selects one format. Default:
   * `.`.
   */
  readonly out: string | undefined;
  readonly question: string;
  readonly canOverwrite: boolean;
}

/**
 * Resolves the destination and creates its folder. Runs before the research, so that hours of work do not end with a
 * name conflict.
 * @throws ServiceError `conflict` if a file exists and may not be overwritten.
 */
export async function chooseTarget({ out = '', question, canOverwrite }: TargetOptions): Promise<ReportTarget> {
  if (out === '-') return { type: 'stdout' };
  const isFolder = out === '' || /[\\/]$/.test(out) || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true;
  const only = isFolder ? undefined : FORMATS.find((format) => out.toLowerCase().endsWith(`.${format}`));
  const target = {
    type: 'files',
    stem: isFolder
      ? join(out, `research-${createSlug(question)}`)
      : only === undefined
        ? out
        : out.slice(0, -only.length - 1),
    formats: only === undefined ? FORMATS : [only],
    canOverwrite,
  } as const;
  for (const path of getPaths(target)) {
    if (existsSync(path) && !canOverwrite)
      throw new ServiceError(
        'conflict',
        `${path} already exists. Choose another path with --out, or overwrite the file with --force.`,
      );
  }
  await mkdir(dirname(target.stem), { recursive: true });
  return target;
}

const getPaths = ({ stem, formats }: { readonly stem: string; readonly formats: readonly ReportFormat[] }): string[] =>
  formats.map((format) => `${stem}.${format}`);

/** Default mode of new files; the umask of the process restricts it. */
const FILE_MODE = 0o666;

/**
 * Writes each file atomically and returns the paths. If a file was created under the name meanwhile, the report gets
 * the next free name, so that neither is lost.
 */
export async function writeReportFiles(
  { stem, formats, canOverwrite }: Extract<ReportTarget, { readonly type: 'files' }>,
  texts: Readonly<Record<ReportFormat, string>>,
): Promise<readonly string[]> {
  if (canOverwrite) {
    for (const format of formats) await replaceFile(`${stem}.${format}`, texts[format], { mode: FILE_MODE });
    return getPaths({ stem, formats });
  }
  for (let number = 1; ; number += 1) {
    const candidate = { stem: number === 1 ? stem : `${stem}-${number}`, formats };
    if (await createAllFiles(candidate, texts)) return getPaths(candidate);
  }
}

async function createAllFiles(
  { stem, formats }: { readonly stem: string; readonly formats: readonly ReportFormat[] },
  texts: Readonly<Record<ReportFormat, string>>,
): Promise<boolean> {
  const created: string[] = [];
  for (const format of formats) {
    const path = `${stem}.${format}`;
    if (await createFile(path, texts[format], { mode: FILE_MODE })) created.push(path);
    else {
      for (const createdPath of created) await rm(createdPath);
      return false;
    }
  }
  return true;
}

/** Longest stem in bytes: file systems allow 255 for a name, which also contains the format and a number. */
const SLUG_BYTES_MAX = 120;

/** Creates a file name from the first words of a question, in the script of the question. */
export function createSlug(question: string): string {
  const words =
    removeInvisibleCharacters(question)
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (longer.length > 60 || Buffer.byteLength(longer) > SLUG_BYTES_MAX) break;
    slug = longer;
  }
  return slug || [...(words[0] ?? 'report')].slice(0, 30).join('');
}
