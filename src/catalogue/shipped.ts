import { readFile } from 'node:fs/promises';
import type { CatalogueRecord } from './schema.ts';
import { parseCatalogueAdditions } from './schema.ts';

/** The data file of the package; from sources and from the built package it lies at the same distance. */
const SHIPPED_FILE = new URL('../../catalogue/models.json', import.meta.url);

/** The models that come with the package. */
export async function readShippedCatalogue(file: URL = SHIPPED_FILE): Promise<CatalogueRecord> {
  const data: unknown = JSON.parse(await readFile(file, 'utf8'));
  return parseCatalogueAdditions(data);
}
