// Starts a service whose data folder is a small disk, uploads files that fit and files that do not, and prints the
// responses as JSON. Arguments: the data folder, and the size of the large file in MiB.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createService } from '../../../src/service/service.ts';

const [, , data = '', largeMib = ''] = process.argv;
const env = { PARLEY_DATA: data, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
const ignore = () => undefined;
const warnings: string[] = [];
const warn = (message: string, fields: object = {}) => void warnings.push(`${message} ${JSON.stringify(fields)}`);
const log = { info: ignore, warn, error: ignore };
const service = await createService(loadConfig({ env }).config, { log });
const [listening] = await service.listen();
const url = listening?.url ?? '';
const key = await service.getFirstKey();
const headers = { authorization: `Bearer ${key?.secret}` };

const small = new Blob(['small']);
const large = new Blob([new Uint8Array(Number(largeMib) * 1024 * 1024)]);
const send = async (path: string, entries: readonly (readonly [string, Blob | string])[]) => {
  const body = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, value, `${value.size}.bin`);
  }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
  return { status: response.status, body: await response.json() };
};

const native = await send('/api/v1/files', [
  ['files', small],
  ['files', large],
  ['files', small],
]);
const compatible = await send('/v1/files', [
  ['purpose', 'batch'],
  ['file', large],
]);
const incoming = await readdir(join(data, 'blobs', 'incoming'));
const list = await (await fetch(`${url}/api/v1/files`, { headers })).json();
process.stdout.write(JSON.stringify({ native, compatible, incoming, list, warnings }));
await service.close();
