import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { createFile, replaceFile } from '../../lib/durable-file.ts';
import { visibleText } from '../../lib/visible-text.ts';

const FORMATS = ['md', 'html'] as const;

export type ReportFormat = (typeof FORMATS)[number];

/** Where a report goes: to standard output, or into files `<stem>.<format>`. */
export type ReportTarget =
  | { readonly type: 'stdout' }
  | {
      readonly type: 'files';
      readonly stem: string;
      readonly formats: readonly ReportFormat[];
      readonly isForced: boolean;
    };

interface TargetWish {
  /** `-`, a folder (it exists, or ends in a slash), or a file; one that ends in .md or .html is the only one. Absent: this folder. */
  readonly out: string | undefined;
  readonly question: string;
  readonly isForced: boolean;
}

/**
 * Asked before any work is done, so that hours of it do not end at a file that is in the way. Makes the folder.
 * @throws ServiceError `conflict` where a file exists and nobody said that it may be replaced.
 */
export async function chooseTarget({ out = '', question, isForced }: TargetWish): Promise<ReportTarget> {
  if (out === '-') return { type: 'stdout' };
  const isFolder = out === '' || /[\\/]$/.test(out) || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true;
  const only = isFolder ? undefined : FORMATS.find((format) => out.toLowerCase().endsWith(`.${format}`));
  const target = {
    type: 'files',
    stem: isFolder
      ? join(out, `research-${slugOf(question)}`)
      : only === undefined
        ? out
        : out.slice(0, -only.length - 1),
    formats: only === undefined ? FORMATS : [only],
    isForced,
  } as const;
  for (const path of pathsOf(target)) {
    if (existsSync(path) && !isForced)
      throw new ServiceError(
        'conflict',
        `${path} exists already: name another place with --out, or replace it with --force.`,
      );
  }
  await mkdir(dirname(target.stem), { recursive: true });
  return target;
}

const pathsOf = ({ stem, formats }: { readonly stem: string; readonly formats: readonly ReportFormat[] }): string[] =>
  formats.map((format) => `${stem}.${format}`);

/** Files of everybody who may see the folder, less what the process masks. */
const MODE = 0o666;

/**
 * Writes each file as a whole, and tells their paths. Where somebody else has put a file there meanwhile, the report gets
 * the next free name: it is not thrown away, and neither is theirs.
 */
export async function writeReport(
  { stem, formats, isForced }: Extract<ReportTarget, { readonly type: 'files' }>,
  texts: Readonly<Record<ReportFormat, string>>,
): Promise<readonly string[]> {
  if (isForced) {
    for (const format of formats) await replaceFile(`${stem}.${format}`, texts[format], { mode: MODE });
    return pathsOf({ stem, formats });
  }
  for (let number = 1; ; number += 1) {
    const free = { stem: number === 1 ? stem : `${stem}-${number}`, formats };
    if (await createAll(free, texts)) return pathsOf(free);
  }
}

async function createAll(
  { stem, formats }: { readonly stem: string; readonly formats: readonly ReportFormat[] },
  texts: Readonly<Record<ReportFormat, string>>,
): Promise<boolean> {
  const created: string[] = [];
  for (const format of formats) {
    const path = `${stem}.${format}`;
    if (await createFile(path, texts[format], { mode: MODE })) created.push(path);
    else {
      for (const ours of created) await rm(ours);
      return false;
    }
  }
  return true;
}

/** Bytes of a name: file systems take 255, and formats and numbers come behind it. */
const SLUG_BYTES_MAX = 120;

/** The first words of a question as a name of a file has them, in its own script. */
export function slugOf(question: string): string {
  const words =
    visibleText(question)
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
