import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import type { RegionId } from '../core/region.ts';
import type { LogFields } from '../core/telemetry.ts';
import { until } from '../../test/until.ts';
import { createService, type Service } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

interface TenantScope {
  readonly region?: RegionId;
  readonly workspace?: string;
}

/** Format of prom-client. */
interface Metric {
  readonly name: string;
  readonly values: readonly { readonly value: number; readonly labels: Readonly<Record<string, string>> }[];
}

const TIMEOUT = { timeoutMs: 20_000 };
const CHAT = '/compatible-mode/v1/chat/completions';
const RESPONSES = '/compatible-mode/v1/responses';
const MESSAGES = '/apps/anthropic/v1/messages';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const PARTS = '/api/v1/services/aigc/multimodal-generation/generation';
const VECTORS = '/api/v1/services/embeddings/text-embedding/text-embedding';

/** A model with all interfaces, which no shipped model has, and a small shared engine. */
const SETTINGS = `
regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}
engine: {sequences: 2}
models:
  all:
    path: /nowhere/all.gguf
    contextTokens: 4096
    interfaces: [chat, messages, responses, completions, native, embeddings]
`;

const createScript = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;
const user = (content: string) => [{ role: 'user', content }];
const PTU = { input_tpm: 100_000, output_tpm: 100_000, thinking_output_tpm: 100_000 };

describe('calls of deployments in the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-deployed-calls-'));
  let service: Service | undefined;
  const urls = new Map<string, string>();
  const keys = new Map<string, string>();
  const requests: LogFields[] = [];

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), SETTINGS);
    const record = (message: string, fields: LogFields = {}): void => {
      if (message === 'request') requests.push(fields);
    };
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, { log: { info: record, warn: record, error: record } });
    for (const { url, region } of await service.listen()) urls.set(region, url);
    for (const plan of ['mu', 'cu'])
      for (const model of ['all', 'svc-mt-plus']) await deploy({ model_name: model, plan, capacity: 4, suffix: plan });
    for (const model of ['all', 'svc-mt-plus'])
      await deploy({ model_name: model, plan: 'ptu', ptu_capacity: PTU, suffix: 'ptu' });
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const getSecret = async ({ region = 'cn-beijing', workspace = 'primary' }: TenantScope): Promise<string> => {
    const scopeKey = `${region} ${workspace}`;
    const known = keys.get(scopeKey);
    if (known !== undefined) return known;
    const created = await service?.keys.create({ region, workspace, name: '', expiresAt: undefined });
    keys.set(scopeKey, created?.secret ?? assert.fail());
    return created?.secret ?? assert.fail();
  };
  const fetchPath = async (
    method: string,
    path: string,
    body?: object,
    caller: TenantScope = {},
  ): Promise<Response> => {
    const isForm = body instanceof FormData;
    return await fetch(`${urls.get(caller.region ?? 'cn-beijing')}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await getSecret(caller)}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
  };
  const send = async (method: string, path: string, body?: object, caller?: TenantScope) => {
    const response = await fetchPath(method, path, body, caller);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const parsed = isJson ? (JSON.parse(text) as Fields) : {};
    return { status: response.status, headers: response.headers, text, json: parsed };
  };
  /** Resolves when the deployment serves. */
  const deploy = async (draft: Fields, caller: TenantScope = {}): Promise<string> => {
    const { json, text } = await send('POST', '/api/v1/deployments', draft, caller);
    const name = (json['output'] as Fields | undefined)?.['deployed_model'];
    assert.equal(typeof name, 'string', text);
    await waitForStatus(String(name), 'RUNNING', caller);
    return String(name);
  };
  const waitForStatus = (name: string, status: string, caller: TenantScope = {}) =>
    until(`${name} ${status}`, TIMEOUT, async () => {
      const { json } = await send('GET', `/api/v1/deployments/${name}`, undefined, caller);
      return (json['output'] as Fields | undefined)?.['status'] === status ? true : undefined;
    });
  /** Returns the number of finished requests to the deployment, from the metrics. */
  const countRequests = async (deployment: string): Promise<number> => {
    const metrics = (await service?.sharing.readMeter()) as readonly Metric[];
    const samples = metrics.find(({ name }) => name === 'parley_deployment_requests_total')?.values ?? [];
    return samples
      .filter(({ labels }) => labels['deployment'] === deployment)
      .reduce((sum, { value }) => sum + value, 0);
  };
  const chat = (model: string, content = 'Hi', extraFields: Fields = {}, caller?: TenantScope) =>
    send('POST', CHAT, { model, messages: user(content), ...extraFields }, caller);

  for (const plan of ['mu', 'cu', 'ptu']) {
    const model = `all-${plan}`;
    for (const [dialect, path, body, message, echoes] of [
      ['chat completions', CHAT, { messages: user('Hi') }, /You said: Hi/, true],
      ['chat completions, streamed', CHAT, { messages: user('Hi'), stream: true }, /"content":".*Hi"/s, true],
      ['completions', '/compatible-mode/v1/completions', { prompt: 'Hi' }, /You said: Hi/, true],
      ['responses', RESPONSES, { input: 'Hi' }, /You said: Hi/, true],
      ['responses, streamed', RESPONSES, { input: 'Hi', stream: true }, /"text":"You said: Hi"/, true],
      ['messages', MESSAGES, { messages: user('Hi'), max_tokens: 9 }, /You said: Hi/, true],
      ['messages, streamed', MESSAGES, { messages: user('Hi'), max_tokens: 9, stream: true }, /message_stop/, true],
      ['count_tokens', `${MESSAGES}/count_tokens`, { messages: user('Hi') }, /"input_tokens":\d/, false],
      ['input tokens of responses', `${RESPONSES}/input_tokens`, { input: 'Hi' }, /"input_tokens":\d/, false],
      ['native generation', GENERATION, { input: { messages: user('Hi') } }, /You said: Hi/, false],
      [
        'native parts',
        PARTS,
        { input: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] } },
        /You said: Hi/,
        false,
      ],
      ['tokenizer', '/api/v1/tokenizer', { input: { messages: user('Hi') } }, /"token_ids":\[/, false],
      ['embeddings', '/compatible-mode/v1/embeddings', { input: 'Hi' }, /"embedding":\[/, true],
      ['native embeddings', VECTORS, { input: { texts: ['Hi'] } }, /"embedding":\[/, false],
    ] as const)
      test(`answers ${dialect} with plan ${plan}`, async () => {
        const { status, text } = await send('POST', path, { model, ...body });
        assert.equal(status, 200, text);
        assert.match(text, message);
        if (echoes) assert.match(text, new RegExp(`"model":"${model}"`));
      });

    test(`translates with plan ${plan}`, async () => {
      const options = { translation_options: { source_lang: 'English', target_lang: 'German' } };
      const { status, text } = await chat(`svc-mt-plus-${plan}`, 'Good morning', options);
      assert.equal(status, 200, text);
      assert.match(text, new RegExp(`"model":"svc-mt-plus-${plan}"`));
    });

    test(`runs a background response and a conversation with plan ${plan}`, async () => {
      const created = await send('POST', RESPONSES, { model, input: 'Hi', background: true });
      assert.equal(created.status, 200, created.text);
      const done = await until('the answer', TIMEOUT, async () => {
        const { json, text } = await send('GET', `${RESPONSES}/${String(created.json['id'])}`);
        return ['queued', 'in_progress'].includes(String(json['status'])) ? undefined : text;
      });
      assert.match(done, /"status":"completed".*You said: Hi/s);
      assert.match(done, new RegExp(`"model":"${model}"`));
      const newConversation = await send('POST', '/compatible-mode/v1/conversations', {});
      const turn = { model, input: 'Hi', conversation: newConversation.json['id'] };
      assert.equal((await send('POST', RESPONSES, turn)).status, 200);
      const next = await send('POST', RESPONSES, { ...turn, input: 'And?' });
      assert.match(next.text, /You said: And\?/);
    });
  }

  test('lets batch lines call the deployments of their owner only', async () => {
    const line = (id: string) =>
      JSON.stringify({
        custom_id: id,
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'all-mu', messages: user('Hi') },
      });
    const runBatch = async (caller: TenantScope) => {
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', new Blob([`${line('a')}\n${line('b')}\n`]), 'in.jsonl');
      const { json: file } = await send('POST', '/v1/files', form, caller);
      const batchDraft = { input_file_id: file['id'], endpoint: '/v1/chat/completions', completion_window: '24h' };
      const { json: batch } = await send('POST', '/v1/batches', batchDraft, caller);
      return await until('the end of the batch', TIMEOUT, async () => {
        const { json } = await send('GET', `/v1/batches/${String(batch['id'])}`, undefined, caller);
        return ['completed', 'failed'].includes(String(json['status'])) ? json : undefined;
      });
    };
    const before = await countRequests('all-mu');
    const result = await runBatch({});
    assert.deepEqual(
      [result['status'], result['request_counts']],
      ['completed', { total: 2, completed: 2, failed: 0 }],
    );
    const { text } = await send('GET', `/v1/files/${String(result['output_file_id'])}/content`);
    assert.match(text, /You said: Hi.*"model":"all-mu"/);
    const foreignResult = await runBatch({ workspace: 'strange' });
    assert.equal(foreignResult['status'], 'failed');
    assert.equal(await countRequests('all-mu'), before + 2);
  });

  test('lists deployments as models in their own workspace only', async () => {
    for (const path of ['/compatible-mode/v1/models', '/apps/anthropic/v1/models', '/api/v1/models?page_size=100']) {
      assert.match((await send('GET', path)).text, /"all-mu"/, path);
      assert.doesNotMatch((await send('GET', path, undefined, { workspace: 'strange' })).text, /all-mu/, path);
      assert.doesNotMatch((await send('GET', path, undefined, { region: 'us-east-1' })).text, /all-mu/, path);
    }
    for (const path of ['/compatible-mode/v1/models/all-mu', '/apps/anthropic/v1/models/all-mu']) {
      assert.equal((await send('GET', path)).status, 200, path);
      assert.equal((await send('GET', path, undefined, { workspace: 'strange' })).status, 404, path);
    }
  });

  test('answers other workspaces and regions as if the deployment did not exist, in each protocol', async () => {
    for (const caller of [{ workspace: 'strange' }, { region: 'us-east-1' }] as const)
      for (const [path, body] of [
        [CHAT, { messages: user('Hi') }],
        [MESSAGES, { messages: user('Hi'), max_tokens: 9 }],
        [GENERATION, { input: { messages: user('Hi') } }],
        [VECTORS, { input: { texts: ['Hi'] } }],
      ] as const) {
        const [foreign, nonexistent] = await Promise.all(
          ['all-mu', 'all-no'].map((model) => send('POST', path, { model, ...body }, caller)),
        );
        const normalize = (text = '', name = ''): string =>
          text
            .replaceAll(name, '…')
            .replaceAll(/"(request_id|id)":"[^"]*"/g, '')
            .replaceAll(/chatcmpl-[^"]*/g, '');
        assert.ok((foreign?.status ?? 0) >= 400, path);
        assert.equal(foreign?.status, nonexistent?.status);
        assert.equal(normalize(foreign?.text, 'all-mu'), normalize(nonexistent?.text, 'all-no'));
      }
  });

  test('keeps deployments of one name apart by workspace and region', async () => {
    const scopes: readonly TenantScope[] = [{}, { workspace: 'second' }, { region: 'us-east-1' }];
    for (const [index, caller] of scopes.entries()) {
      const draft = {
        model_name: 'all',
        plan: 'mu',
        capacity: 1,
        suffix: 'same',
        max_context_length: 256 * (index + 1),
      };
      assert.equal(await deploy(draft, caller), 'all-same');
    }
    const long = Array.from({ length: 300 }, () => 'word').join(' ');
    const answers = await Promise.all(scopes.map(async (caller) => (await chat('all-same', long, {}, caller)).status));
    assert.deepEqual(answers, [400, 200, 200]);
    await send('PUT', '/api/v1/deployments/all-same/scale', { capacity: 0 });
    await waitForStatus('all-same', 'STOPPED');
    assert.equal((await chat('all-same')).status, 503);
    assert.equal((await chat('all-same', 'Hi', {}, { workspace: 'second' })).status, 200);
  });

  test('reports a deployment without serving units in the error format of each protocol', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'zero' });
    await send('PUT', `/api/v1/deployments/${name}/scale`, { capacity: 0 });
    const expectedMessage =
      /^Deployment all-zero cannot serve calls: its status is (UPDATING|STOPPED)\. Its capacity is 0; scale it up to use it\.$/;
    const readOverload = async (path: string, body: Fields) => {
      const answer = await send('POST', path, { model: name, ...body });
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.headers.get('retry-after'), '60');
      return answer.json;
    };
    const compatible = (await readOverload(CHAT, { messages: user('Hi') }))['error'] as Fields;
    assert.match(String(compatible['message']), expectedMessage);
    assert.equal(typeof compatible['code'], 'string');
    const anthropic = await readOverload(MESSAGES, { messages: user('Hi'), max_tokens: 9 });
    assert.deepEqual([anthropic['type'], (anthropic['error'] as Fields)['type']], ['error', 'overloaded_error']);
    assert.match(String((anthropic['error'] as Fields)['message']), expectedMessage);
    const native = await readOverload(GENERATION, { input: { messages: user('Hi') } });
    assert.match(String(native['message']), expectedMessage);
    assert.equal(typeof native['request_id'], 'string');
    assert.match(JSON.stringify(await readOverload(RESPONSES, { input: 'Hi' })), /cannot serve calls/);
    assert.match(
      JSON.stringify(await readOverload('/api/v1/tokenizer', { input: { messages: user('Hi') } })),
      /cannot serve calls/,
    );
    assert.match(
      JSON.stringify(await readOverload('/compatible-mode/v1/embeddings', { input: 'Hi' })),
      /cannot serve calls/,
    );
    await send('PUT', `/api/v1/deployments/${name}/scale`, { capacity: 1 });
    await waitForStatus(name, 'RUNNING');
    assert.equal((await chat(name)).status, 200);
  });

  test('refuses calls with Retry-After until the engine has started', async () => {
    const { json } = await send('POST', '/api/v1/deployments', { model_name: 'all', capacity: 1, suffix: 'new' });
    assert.equal((json['output'] as Fields)['status'], 'PENDING');
    const answer = await chat('all-new');
    // The engine may have started already.
    if (answer.status === 503) assert.equal(answer.headers.get('retry-after'), '5');
    await waitForStatus('all-new', 'RUNNING');
    assert.equal((await chat('all-new')).status, 200);
  });

  test('serves reserved tokens while the shared engine is busy, and names them when they are used up', async () => {
    const ptu_capacity = { input_tpm: 60, output_tpm: 40, thinking_output_tpm: 0 };
    const name = await deploy({ model_name: 'all', plan: 'ptu', ptu_capacity, suffix: 'few' });
    const controller = new AbortController();
    const { url, secret } = { url: urls.get('cn-beijing') ?? '', secret: await getSecret({ workspace: 'crowd' }) };
    const blockers = Array.from({ length: 12 }, () =>
      fetch(`${url}${CHAT}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'all', messages: user(createScript('a ', { hang: true })), stream: true }),
        signal: controller.signal,
      }).catch(() => undefined),
    );
    // Both sequences of the shared engine are now in use, so other calls wait.
    await Promise.any(blockers);
    // Far more tokens than one minute allows: what refills while the machine stalls is not enough for another call.
    const served = await chat(name, createScript({ repeat: 'w ', times: 80 }));
    assert.equal(served.status, 200, served.text);
    controller.abort();
    await Promise.all(blockers);
    const exceeded = await chat(name);
    assert.equal(exceeded.status, 429, exceeded.text);
    assert.match(
      exceeded.text,
      /\(output_tpm: deployment all-few has 40 tokens per minute; enough are available again in \d+ s\)/,
    );
    assert.ok(Number(exceeded.headers.get('retry-after')) > 0);
    const anthropic = await send('POST', MESSAGES, { model: name, messages: user('Hi'), max_tokens: 5 });
    assert.deepEqual([anthropic.status, (anthropic.json['error'] as Fields)['type']], [429, 'billing_error']);
    assert.equal(
      (await send('POST', GENERATION, { model: name, input: { messages: user('Hi') } })).json['code'],
      'Throttling.AllocationQuota',
    );
    const long = Array.from({ length: 100 }, () => 'w').join(' ');
    const other = await deploy({
      model_name: 'all',
      plan: 'ptu',
      ptu_capacity: { ...PTU, input_tpm: 60 },
      suffix: 'input',
    });
    assert.equal(
      (await chat(other, long)).status,
      200,
      'a call larger than the quota of a minute is served while the full quota is left',
    );
    assert.match((await chat(other)).text, /input_tpm: deployment all-input has 60/);
  });

  test('enforces changed request and token limits at once, and names them', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'limits', rpm_limit: 1 });
    assert.equal((await chat(name)).status, 200);
    const second = await chat(name);
    assert.equal(second.status, 429);
    assert.match(second.text, /\(rpm_limit: deployment all-limits has 1 requests per minute/);
    await send('PUT', `/api/v1/deployments/${name}`, { rpm_limit: null, tpm_limit: 3 });
    assert.equal((await chat(name)).status, 200);
    assert.match((await chat(name)).text, /\(tpm_limit: deployment all-limits has 3 tokens per minute/);
    await send('PUT', `/api/v1/deployments/${name}/update`, { tpm_limit: null });
    for (let call = 0; call < 5; call++) assert.equal((await chat(name)).status, 200);
  });

  test('limits prompt and answer to the context length of the deployment, on own and shared engines', async () => {
    for (const [plan, capacity] of [
      ['mu', { capacity: 1 }],
      ['ptu', { ptu_capacity: PTU }],
    ] as const) {
      const name = await deploy({
        model_name: 'all',
        plan,
        ...capacity,
        suffix: `ctx${plan}`,
        max_context_length: 256,
      });
      const tooLong = await chat(name, Array.from({ length: 300 }, () => 'w').join(' '));
      assert.equal(tooLong.status, 400, tooLong.text);
      assert.match(tooLong.text, /context.* holds 256/);
      const { json } = await chat(name, createScript({ repeat: 'w ', times: 1000 }));
      const { prompt_tokens: prompt, completion_tokens: answer } = json['usage'] as Readonly<Record<string, number>>;
      assert.equal(Number(prompt) + Number(answer), 256);
      assert.match(JSON.stringify(json['choices']), /"finish_reason":"length"/);
    }
  });

  test('names the deployment in log and metrics until it is deleted', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'named' });
    await chat(name);
    await until('the log line of the request', TIMEOUT, async () =>
      requests.some(
        ({ deployment, model, requestedModel }) => deployment === name && model === 'all' && requestedModel === name,
      )
        ? true
        : undefined,
    );
    const metrics = async () => JSON.stringify(await service?.sharing.readMeter());
    assert.equal(await countRequests(name), 1);
    assert.match(await metrics(), /"deployment":"all-named"/);
    await send('DELETE', `/api/v1/deployments/${name}`);
    await until('the deployment to be deleted', TIMEOUT, async () =>
      (await metrics()).includes('all-named') ? undefined : true,
    );
    assert.equal((await chat(name)).status, 404);
  });

  test('requests thinking by default when the deployment does, unless the request overrides it', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'think', enable_thinking: true });
    const ignored = async (more: Fields) => (await chat(name, 'Hi', more)).headers.get('x-parley-ignored') ?? '';
    // The model of the scripted engine cannot think, so a request to think is reported as ignored.
    assert.match(await ignored({}), /enable_thinking/);
    assert.doesNotMatch(await ignored({ enable_thinking: false }), /enable_thinking/);
  });

  test('thinks by default in every protocol, unless the request overrides it', async () => {
    const name = await deploy({ model_name: 'svc-plus', capacity: 1, suffix: 'thinks', enable_thinking: true });
    const messages = user(createScript('so', '</think>', 'yes'));
    for (const [path, body, otherwise, thought] of [
      [CHAT, { messages }, { enable_thinking: false }, /"reasoning_content":"so/],
      [MESSAGES, { messages, max_tokens: 99 }, { thinking: { type: 'disabled' } }, /"type":"thinking"/],
      [RESPONSES, { input: messages[0]?.content }, { reasoning: { effort: 'none' } }, /"type":"reasoning"/],
      [GENERATION, { input: { messages } }, { parameters: { enable_thinking: false } }, /"reasoning_content":"so/],
    ] as const) {
      const answer = await send('POST', path, { model: name, ...body });
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.text, thought, path);
      assert.doesNotMatch((await send('POST', path, { model: name, ...body, ...otherwise })).text, thought, path);
    }
    const plain = await deploy({ model_name: 'svc-plus', capacity: 1, suffix: 'plain' });
    assert.doesNotMatch((await send('POST', CHAT, { model: plain, messages })).text, /"reasoning_content":"so/);
  });

  test('counts thinking tokens against their own reservation', async () => {
    const ptu_capacity = { ...PTU, thinking_output_tpm: 0 };
    const name = await deploy({ model_name: 'svc-plus', plan: 'ptu', ptu_capacity, suffix: 'apart' });
    assert.equal((await chat(name)).status, 200);
    const thinking = await chat(name, 'Hi', { enable_thinking: true });
    assert.equal(thinking.status, 429, thinking.text);
    assert.match(thinking.text, /thinking_output_tpm: deployment svc-plus-apart has 0 tokens per minute\)/);
  });
});
