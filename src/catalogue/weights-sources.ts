import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { listPartFiles, parsePartName } from '../core/split-model-file.ts';
import type { WeightsSource } from '../core/weights.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { createRecordError } from './record-error.ts';
import type { ModelRecord } from './schema.ts';

type HubRecord = Omit<HubSource, 'sha256' | 'partHashes'> & { readonly sha256?: string | readonly string[] };

/** Creates the source of a file of the hub. @throws ServiceError when the number of hashes is not that of its parts. */
export function createHubSource(path: string, { sha256, ...source }: HubRecord): HubSource {
  if (sha256 === undefined) return source;
  const hashes = [sha256].flat();
  const parts = listPartFiles(source.file).length;
  if (hashes.length !== parts)
    throw createRecordError(
      `${path}.sha256`,
      `must be ${parts === 1 ? 'one hash' : `a list of ${parts} hashes, one for each part`}`,
    );
  const [only] = hashes;
  return parts === 1 && only !== undefined ? { ...source, sha256: only } : { ...source, partHashes: hashes };
}

type HubSource = Extract<WeightsSource, { readonly type: 'hub' }>;

/** Returns the source of the short forms `hub` and `path`. @throws ServiceError for a wrong number of hashes. */
export function toSource(recordPath: string, record: ModelRecord): WeightsSource | undefined {
  const { hub, revision, sha256, trust, path } = record;
  if (hub) {
    const source = { type: 'hub', ...hub, revision: revision ?? 'main', ...omitNullish({ sha256, trust }) } as const;
    return createHubSource(recordPath, source);
  }
  return path === undefined ? undefined : { type: 'file', path };
}

/** Creates an id: equal for the same file in several models, different for equally named files of different origin. */
export function createWeightsId(source: WeightsSource): string {
  const [file, origin] =
    source.type === 'hub'
      ? [source.file, `${source.repository}/${source.file}@${source.revision}`]
      : [source.type === 'file' ? source.path : '', JSON.stringify(source)];
  const mark = createHash('sha256').update(origin).digest('hex').slice(0, 8);
  const stem = basename(parsePartName(file)?.stem ?? file)
    .replace(/\.gguf$/i, '')
    .replace(/[^\w.-]/g, '_');
  return `${stem}-${mark}`;
}
