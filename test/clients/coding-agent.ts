import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder into which `.ci/run` installs the package that ./agent pins. */
const PACKAGE = '../../.cache/agent/node_modules/@anthropic-ai/claude-code/';

export interface CodingAgent {
  /** The script that Node runs. */
  readonly launcher: string;
  /** Why the tests are skipped; undefined when the pinned version is installed. */
  readonly skipReason?: string;
}

/**
 * Finds the coding agent in the version that ./agent pins. Its install script, which copies the launcher, does not run.
 */
export function findCodingAgent(): CodingAgent {
  const launcher = fileURLToPath(new URL(`${PACKAGE}cli-wrapper.cjs`, import.meta.url));
  const pinned = readVersion('agent/package.json', /"@anthropic-ai\/claude-code": "([^"]+)"/);
  if (readVersion(`${PACKAGE}package.json`, /"version": "([^"]+)"/) === pinned) return { launcher };
  const command = 'cp test/clients/agent/{package*.json,.npmrc} .cache/agent/ && npm ci --prefix .cache/agent';
  return { launcher, skipReason: `no coding agent ${pinned} (mkdir -p .cache/agent && ${command})` };
}

function readVersion(file: string, pattern: RegExp): string | undefined {
  const url = new URL(file, import.meta.url);
  return existsSync(url) ? pattern.exec(readFileSync(url, 'utf8'))?.[1] : undefined;
}
