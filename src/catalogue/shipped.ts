import { readFile } from 'node:fs/promises';
import { parseCatalogueAdditions, type CatalogueRecord } from './schema.ts';

/** Data file of the package. Its relative path is the same for the sources and for the build. */
const SHIPPED_FILE = new URL('../../catalogue/models.json', import.meta.url);

/** Reads the models that come with the package. */
export async function readShippedCatalogue(file: URL = SHIPPED_FILE): Promise<CatalogueRecord> {
  const data: unknown = JSON.parse(await readFile(file, 'utf8'));
  return parseCatalogueAdditions(data);
}
