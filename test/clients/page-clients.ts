import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder into which `.ci/run` installs the packages that ./page-clients pins. */
const PACKAGES = '../../.cache/page-clients/node_modules/';

export interface PageClient {
  readonly url: URL;
  /** Why the tests are skipped; undefined when the pinned version is installed. */
  readonly skipReason?: string;
}

/**
 * Finds a file of a package that ./page-clients pins.
 * @param path Path of the file inside the package.
 */
export function findPageClient(packageName: string, path: string): PageClient {
  const url = new URL(`${PACKAGES}${packageName}/${path}`, import.meta.url);
  const { dependencies, optionalDependencies } = readJson('page-clients/package.json');
  const range = { ...dependencies, ...optionalDependencies }[packageName];
  if (range === undefined) return { url, skipReason: `no ${packageName} is pinned` };
  // An alias is `npm:PACKAGE@VERSION`.
  const pinned = range.slice(range.lastIndexOf('@') + 1);
  if (readJson(`${PACKAGES}${packageName}/package.json`).version === pinned) return { url };
  const command = 'cp test/clients/page-clients/{package*.json,.npmrc} .cache/page-clients/';
  const reason = `mkdir -p .cache/page-clients && ${command} && npm ci --prefix .cache/page-clients`;
  return { url, skipReason: `no ${packageName} ${pinned} (${reason})` };
}

/**
 * Returns a settings file as a page of docs/clients shows it, with the address of a running Parley.
 * @param name Name of the page, such as `codex`.
 * @param language Language of the block; the first such block of the page is returned.
 */
export function readPageSettings(name: string, language: string, { address }: { readonly address: string }): string {
  const page = readFileSync(new URL(`../../docs/clients/${name}.md`, import.meta.url), 'utf8');
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1];
  if (block === undefined) throw new Error(`${name}.md has no block of ${language}`);
  return block.replaceAll('http://127.0.0.1:8000', address);
}

/** Environment of a client that connects to this machine only: everything else goes to a proxy that nothing listens at. */
export const LOOPBACK_ONLY = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  ALL_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1',
} as const;

interface PackageJson {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function readJson(file: string): PackageJson {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}
