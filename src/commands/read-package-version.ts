import { readFileSync } from 'node:fs';

/** The relative path is the same from the sources and from the built package. */
const PACKAGE_FILE = new URL('../../package.json', import.meta.url);

/** Returns the version of the npm package. */
export const readPackageVersion = (): string =>
  (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { readonly version: string }).version;
