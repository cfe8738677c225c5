import { homedir } from 'node:os';
import { join } from 'node:path';
import { readTextIfReadable } from './file-system.ts';

/**
 * Returns the package index that pip would use according to its environment or configuration files, or undefined when
 * none is configured. Precedence as in pip's documentation: environment, user's file, machine's file.
 */
export async function findPipIndexUrl(
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
    const url = file === undefined ? undefined : parseIndexUrl(await readTextIfReadable(file));
    if (url !== undefined) return url;
  }
  return undefined;
}

/** Returns `index-url` of the sections that apply to downloads: `download`, otherwise `global`. */
function parseIndexUrl(text: string): string | undefined {
  let section = '';
  const urlBySection = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    section = /^\[([^\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    const url = /^index[-_]url\s*[=:]\s*(\S+)/.exec(line)?.[1];
    if (url !== undefined) urlBySection.set(section, url);
  }
  return urlBySection.get('download') ?? urlBySection.get('global');
}
