import { readFile } from 'node:fs/promises';
import { replaceFile } from '../lib/durable-file.ts';
import { errorCode } from './file-system.ts';

/** What an interrupted download must know to go on: which file it was a part of. */
export interface HubState {
  readonly url: string;
  readonly etag?: string;
  readonly sha256?: string;
  readonly sizeBytes?: number;
}

/** Undefined where there is none that can be read: the download then begins anew. */
export async function readHubState(path: string): Promise<HubState | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isHubState(parsed) ? parsed : undefined;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

export const writeHubState = (path: string, state: HubState): Promise<void> =>
  replaceFile(path, JSON.stringify(state), { mode: 0o644 });

const isHubState = (value: unknown): value is HubState =>
  typeof value === 'object' &&
  value !== null &&
  'url' in value &&
  typeof value.url === 'string' &&
  isOptional(value, 'etag', 'string') &&
  isOptional(value, 'sha256', 'string') &&
  isOptional(value, 'sizeBytes', 'number');

const isOptional = (value: object, key: string, type: 'string' | 'number'): boolean =>
  !(key in value) || typeof Object.getOwnPropertyDescriptor(value, key)?.value === type;
