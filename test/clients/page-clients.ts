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
  const pinned = { ...dependencies, ...optionalDependencies }[packageName];
  if (pinned === undefined) return { url, skipReason: `no ${packageName} is pinned` };
  if (readJson(`${PACKAGES}${packageName}/package.json`).version === pinned) return { url };
  const command = 'cp test/clients/page-clients/{package*.json,.npmrc} .cache/page-clients/';
  const reason = `mkdir -p .cache/page-clients && ${command} && npm ci --prefix .cache/page-clients`;
  return { url, skipReason: `no ${packageName} ${pinned} (${reason})` };
}

interface PackageJson {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function readJson(file: string): PackageJson {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}
