import { readFile } from 'node:fs/promises';
import { parseCatalogueAdditions, type CatalogueRecord } from './schema.ts';

/**
 * Data files of the package. Their relative paths are the same for the sources and for the build. `models.json` has the
 * models that are served by default; `hub-models.json` has weights of the hub that an operator can choose.
 */
const SHIPPED_FILES = ['models.json', 'hub-models.json'].map(
  (name) => new URL(`../../catalogue/${name}`, import.meta.url),
);

/** Reads the models and weights that come with the package. */
export async function readShippedCatalogue(): Promise<CatalogueRecord> {
  const records = await Promise.all(
    SHIPPED_FILES.map(async (file) => parseCatalogueAdditions(JSON.parse(await readFile(file, 'utf8')))),
  );
  return {
    models: Object.assign({}, ...records.map(({ models }) => models)),
    weights: Object.assign({}, ...records.map(({ weights }) => weights)),
    aliases: Object.assign({}, ...records.map(({ aliases }) => aliases)),
  };
}
