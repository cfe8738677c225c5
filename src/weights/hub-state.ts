import { z } from 'zod';
import { replaceFile } from '../lib/durable-file.ts';
import { readJsonIfValid } from './file-system.ts';

/** Facts about a partial download that are needed to resume it. Stored beside the partial file. */
const HubState = z.object({
  url: z.string(),
  etag: z.string().exactOptional(),
  sha256: z.string().exactOptional(),
  sizeBytes: z.number().exactOptional(),
});

export type HubState = Readonly<z.infer<typeof HubState>>;

/** Reads the state. Returns undefined when it is missing or unreadable: the download then starts again. */
export const readHubState = (path: string): Promise<HubState | undefined> => readJsonIfValid(path, HubState);

export const writeHubState = (path: string, state: HubState): Promise<void> =>
  replaceFile(path, JSON.stringify(state), { mode: 0o644 });
