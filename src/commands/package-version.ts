import { readFileSync } from 'node:fs';

/** From sources and from the built package it lies at the same distance. */
const PACKAGE_FILE = new URL('../../package.json', import.meta.url);

/** The version that npm knows. */
export const packageVersion = (): string =>
  (JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { readonly version: string }).version;
