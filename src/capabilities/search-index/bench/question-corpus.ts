import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, glob, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { QuestionCorpus } from './search-questions.ts';

const run = promisify(execFile);

/**
 * Downloads a documentation package with `apt-get`, verifies its SHA-256, and copies its HTML pages to a folder that later
 * runs use again.
 *
 * @returns the folder.
 */
export async function openQuestionCorpus({ packageName, version, sha256, folder }: QuestionCorpus): Promise<string> {
  const base = join(process.env['PARLEY_BENCH_FOLDER'] ?? join(homedir(), '.cache', 'parley', 'bench'), 'corpora');
  const target = join(base, `${packageName}-${sha256.slice(0, 16)}`);
  if (existsSync(target)) return join(target, packageName);
  const work = `${target}.part`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  await run('apt-get', ['download', `${packageName}=${version}`], { cwd: work });
  const [archive] = await Array.fromAsync(glob('*.deb', { cwd: work }));
  if (archive === undefined) throw new Error(`apt-get did not download ${packageName}.`);
  const digest = createHash('sha256').update(await readFile(join(work, archive)));
  if (digest.digest('hex') !== sha256) throw new Error(`${archive} has another SHA-256 than ${sha256}.`);
  await run('dpkg-deb', ['-x', archive, 'unpacked'], { cwd: work });
  const pages = join(work, 'unpacked', folder);
  for await (const page of glob('**/*.html', { cwd: pages }))
    await cp(join(pages, page), join(work, packageName, page), { recursive: true });
  await rm(join(work, 'unpacked'), { recursive: true });
  await rename(work, target);
  return join(target, packageName);
}
