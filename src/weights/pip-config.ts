import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from './file-system.ts';

/**
 * The package index that pip would use by its environment or its configuration files; undefined where nothing is
 * configured. Order as in pip's documentation: environment, then the user's file, then the machine's.
 */
export async function findIndexUrl(
  environment: Readonly<Record<string, string | undefined>>,
  home: string = homedir(),
): Promise<string | undefined> {
  if (environment['PIP_INDEX_URL']) return environment['PIP_INDEX_URL'];
  const files = [
    environment['PIP_CONFIG_FILE'],
    join(environment['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip', 'pip.conf'),
    join(home, 'Library', 'Application Support', 'pip', 'pip.conf'),
    join(home, '.pip', 'pip.conf'),
    '/etc/pip.conf',
  ];
  for (const file of files) {
    const url = file === undefined ? undefined : indexUrlOf(await readText(file));
    if (url !== undefined) return url;
  }
  return undefined;
}

/** `index-url` of the sections that hold for downloads. */
function indexUrlOf(text: string): string | undefined {
  let section = '';
  const found = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    section = /^\[([^\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    const url = /^index[-_]url\s*[=:]\s*(\S+)/.exec(line)?.[1];
    if (url !== undefined) found.set(section, url);
  }
  return found.get('download') ?? found.get('global');
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'].includes(errorCode(thrown) ?? '')) return '';
    throw thrown;
  }
}
