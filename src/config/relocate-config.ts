import { join, resolve } from 'node:path';
import { Document, isMap, parseDocument, visit } from 'yaml';
import { replaceFile } from '../lib/durable-file.ts';
import { getValueAt } from '../lib/get-value-at.ts';
import { isRecord } from '../lib/is-record.ts';
import { readExistingFile } from './config-file.ts';
import { parseConfigFile } from './parse-config-file.ts';

/** Locations of the data of a restored service. */
export interface RestoredLocations {
  /** Path of the database within the data folder. */
  readonly databasePath: string;
  /** `s3://…`; undefined: the folder `blobs` in the data folder. */
  readonly blobsUrl: string | undefined;
}

/** A setting that was changed; `undefined`: the file does not have it. */
export interface ConfigChange {
  readonly setting: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Used without `store.url`. */
const DATABASE_PATH_DEFAULT = 'parley.db';

/**
 * Changes `data`, `store.url` and `blobs.url` in the `parley.yaml` of a restored data folder so that they name the
 * restored data: otherwise the restored service would use the database, and delete the blobs, of the service that was
 * backed up. Creates the file if settings are necessary and it is missing. Keeps comments, except in a file with aliases.
 * @throws ServiceError `invalid-request` if the file is invalid.
 */
export async function relocateConfig(
  folder: string,
  { databasePath, blobsUrl }: RestoredLocations,
): Promise<readonly ConfigChange[]> {
  const path = join(folder, 'parley.yaml');
  const file = await readExistingFile(path);
  if (file) parseConfigFile(path, file.text); // throws for a file with errors
  const document = parseEditable(file?.text ?? '');
  const tree: unknown = document.toJS();
  const getBefore = (setting: string): string | undefined => {
    const value = getValueAt(tree, setting.split('.')) ?? undefined;
    return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
  };
  const storeUrl = getBefore('store.url');
  const isRestoredDatabase = resolve(folder, toDatabasePath(storeUrl)) === resolve(folder, databasePath);
  const changes = [
    // Relative to the file, so that it also holds for a folder that is moved, and for `--config`.
    { setting: 'data', after: getBefore('data') === undefined ? undefined : '.' },
    { setting: 'store.url', after: databasePath === DATABASE_PATH_DEFAULT ? undefined : `sqlite:${databasePath}` },
    { setting: 'blobs.url', after: blobsUrl },
  ]
    .map((change) => ({ ...change, before: getBefore(change.setting) }))
    .filter(({ before, after }) => before !== after)
    .filter(({ setting }) => setting !== 'store.url' || !isRestoredDatabase);
  if (changes.length === 0) return [];
  for (const { setting, after } of changes) setSetting(document, setting.split('.'), after);
  await replaceFile(path, document.toString({ lineWidth: 0 }), { mode: file?.mode ?? 0o600 });
  return changes;
}

const toDatabasePath = (url: string | undefined): string => url?.slice('sqlite:'.length) ?? DATABASE_PATH_DEFAULT;

/** Parses a file. Replaces aliases by their values, because a change would affect each place of an alias. */
function parseEditable(text: string): Document {
  const document = parseDocument(text);
  let hasAlias = false;
  visit(document, { Alias: () => ((hasAlias = true), visit.BREAK) });
  return hasAlias ? new Document(document.toJS(), { aliasDuplicateObjects: false }) : document;
}

/** Sets a setting, or removes it. */
function setSetting(document: Document, path: readonly string[], value: string | undefined): void {
  const [section = '', ...inner] = path;
  if (inner.length > 0 && !isMap(document.get(section, true))) {
    const existing: unknown = getValueAt(document.toJS(), [section]);
    document.set(section, document.createNode(isRecord(existing) ? existing : {}));
  }
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
}
