import { replaceFile } from '../lib/durable-file.ts';
import { readJsonIfValid } from './file-system.ts';

/** Facts about a partial download that are needed to resume it. Stored beside the partial file. */
export interface HubState {
  readonly url: string;
  readonly etag?: string;
  readonly sha256?: string;
  readonly sizeBytes?: number;
}

/** Reads the state. Returns undefined when it is missing or unreadable: the download then starts again. */
export const readHubState = (path: string): Promise<HubState | undefined> => readJsonIfValid(path, isHubState);

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
