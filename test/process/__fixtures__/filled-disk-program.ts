// Starts a service whose data folder is a small disk that something else fills, prints what callers then see as one line
// of JSON, and is killed without closing anything. Arguments: the data folder; `again` on the full disk of a first run.
import { createWriteStream, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createService } from '../../../src/service/service.ts';

const [, , data = '', run] = process.argv;
const filler = join(data, 'filler');
const env = { PARLEY_DATA: data, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
const lines: string[] = [];
/** Writes an error as the message of its cause, which is for the operator. */
const describe = (_key: string, value: unknown): unknown => {
  if (!(value instanceof Error)) return value;
  return value.cause instanceof Error ? value.cause.message : value.message;
};
const record = (message: string, fields: object = {}) =>
  void lines.push(`${message} ${JSON.stringify(fields, describe)}`);
const log = { info: () => undefined, warn: record, error: record };

const service = await createService(loadConfig({ env }).config, { log });
const [listening] = await service.listen();
const url = listening?.url ?? '';
const key = await service.getFirstKey();
const headers = { authorization: `Bearer ${key?.secret}` };
const operator = { authorization: `Bearer ${readFileSync(join(data, 'operator-token'), 'utf8').trim()}` };
const readStorage = async () => {
  const response = await fetch(`${url}/ready`, { headers: operator });
  const { state, storage } = (await response.json()) as Record<string, unknown>;
  return { status: response.status, state, storage };
};

const call = async (method: string, path: string, body?: FormData | string) => {
  const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
  const response = await fetch(`${url}${path}`, { method, headers: { ...headers, ...type }, ...(body && { body }) });
  return { status: response.status, body: await response.json() };
};
const upload = async (bytes: number) => {
  const body = new FormData();
  body.append('purpose', 'batch');
  body.append('file', new Blob([new Uint8Array(bytes)]), `${bytes}.jsonl`);
  return await call('POST', '/v1/files', body);
};
const createConversation = () => call('POST', '/v1/conversations', '{"metadata":{"a":"b"}}');

/** Writes zeros until the disk has no byte left. */
async function fillDisk(): Promise<void> {
  for (const bytes of [1 << 20, 4096, 1]) {
    for (;;) {
      const file = createWriteStream(filler, { flags: 'a' });
      file.end(new Uint8Array(bytes));
      if (await finished(file).then(() => false, () => true)) break;
    }
  }
}

const report: Record<string, unknown> = {};
if (run === 'again') {
  report['list'] = await call('GET', '/v1/files');
  report['ready'] = await readStorage();
  const { data: files } = (report['list'] as { body: { data: readonly { id: string }[] } }).body;
  report['deleted'] = await call('DELETE', `/v1/files/${files[0]?.id}`);
  report['list after'] = await call('GET', '/v1/files');
  rmSync(filler);
} else {
  report['uploads'] = [await upload(100_000), await upload(200_000)];
  report['conversation'] = await createConversation();
  report['ready'] = await readStorage();
  await fillDisk();
  report['full upload'] = await upload(10);
  // Each one takes a little of the database's files, which had some space left.
  let created = await createConversation();
  for (let tries = 0; tries < 2000 && created.status === 200; tries += 1) created = await createConversation();
  report['full conversation'] = created;
  report['full ready'] = await readStorage();
  const { body } = (report['uploads'] as readonly { body: { id: string } }[])[0] ?? { body: { id: '' } };
  report['deleted'] = await call('DELETE', `/v1/files/${body.id}`);
  report['list'] = await call('GET', '/v1/files');
  const conversation = (report['conversation'] as { body: { id: string } }).body.id;
  report['deleted conversation'] = await call('DELETE', `/v1/conversations/${conversation}`);
  report['refused while low'] = [await createConversation(), await upload(10)];
  report['reserve'] = existsSync(join(data, 'parley.db-reserve'));
  await fillDisk();
}
report['lines'] = lines;
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.kill(process.pid, 'SIGKILL'));
