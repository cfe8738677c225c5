import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What `.ci/run` installs there, from ./agent. */
const PACKAGE = '../../.cache/agent/node_modules/@anthropic-ai/claude-code/';

export interface Agent {
  /** A file for Node. */
  readonly launcher: string;
  /** Why its tests are skipped. */
  readonly lacks?: string;
}

/** The coding agent in the version that ./agent pins. Its own install script, which would copy it, did not run. */
export function findAgent(): Agent {
  const launcher = fileURLToPath(new URL(`${PACKAGE}cli-wrapper.cjs`, import.meta.url));
  const pinned = versionIn('agent/package.json', /"@anthropic-ai\/claude-code": "([^"]+)"/);
  if (versionIn(`${PACKAGE}package.json`, /"version": "([^"]+)"/) === pinned) return { launcher };
  const how = 'cp test/clients/agent/{package*.json,.npmrc} .cache/agent/ && npm ci --prefix .cache/agent';
  return { launcher, lacks: `no coding agent ${pinned} (mkdir -p .cache/agent && ${how})` };
}

function versionIn(file: string, version: RegExp): string | undefined {
  const url = new URL(file, import.meta.url);
  return existsSync(url) ? version.exec(readFileSync(url, 'utf8'))?.[1] : undefined;
}
