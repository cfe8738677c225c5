import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import type { RegionId } from '../core/region.ts';
import type { Facts } from '../core/telemetry.ts';
import { until } from '../../test/until.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Caller {
  readonly region?: RegionId;
  readonly workspace?: string;
}

/** As prom-client tells it. */
interface Metric {
  readonly name: string;
  readonly values: readonly { readonly value: number; readonly labels: Readonly<Record<string, string>> }[];
}

const PATIENCE = { withinMs: 20_000 };
const CHAT = '/compatible-mode/v1/chat/completions';
const RESPONSES = '/compatible-mode/v1/responses';
const MESSAGES = '/apps/anthropic/v1/messages';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const PARTS = '/api/v1/services/aigc/multimodal-generation/generation';
const VECTORS = '/api/v1/services/embeddings/text-embedding/text-embedding';

/** A model that does all of it, as no shipped one does; and a small engine that is shared. */
const SETTINGS = `
regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}
engine: {sequences: 2}
models:
  all:
    path: /nowhere/all.gguf
    contextTokens: 4096
    interfaces: [chat, messages, responses, completions, native, embeddings]
`;

const says = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;
const user = (content: string) => [{ role: 'user', content }];
const PTU = { input_tpm: 100_000, output_tpm: 100_000, thinking_output_tpm: 100_000 };

describe('calls of deployments, through the whole service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-deployed-calls-'));
  let service: Service | undefined;
  const at = new Map<string, string>();
  const keys = new Map<string, string>();
  const requests: Facts[] = [];

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), SETTINGS);
    const note = (message: string, facts: Facts = {}): void => {
      if (message === 'request') requests.push(facts);
    };
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, { log: { info: note, warn: note, error: note } });
    for (const { url, region } of await service.listen()) at.set(region, url);
    for (const plan of ['mu', 'cu'])
      for (const model of ['all', 'svc-mt-plus']) await deploy({ model_name: model, plan, capacity: 4, suffix: plan });
    for (const model of ['all', 'svc-mt-plus'])
      await deploy({ model_name: model, plan: 'ptu', ptu_capacity: PTU, suffix: 'ptu' });
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const keyOf = async ({ region = 'cn-beijing', workspace = 'primary' }: Caller): Promise<string> => {
    const place = `${region} ${workspace}`;
    const known = keys.get(place);
    if (known !== undefined) return known;
    const made = await service?.keys.create({ region, workspace, name: '', expiresAt: undefined });
    keys.set(place, made?.secret ?? assert.fail());
    return made?.secret ?? assert.fail();
  };
  const send = async (method: string, path: string, body?: object, caller: Caller = {}): Promise<Response> => {
    const isForm = body instanceof FormData;
    return await fetch(`${at.get(caller.region ?? 'cn-beijing')}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await keyOf(caller)}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
  };
  const ask = async (method: string, path: string, body?: object, caller?: Caller) => {
    const response = await send(method, path, body, caller);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const told = isJson ? (JSON.parse(text) as Fields) : {};
    return { status: response.status, headers: response.headers, text, told };
  };
  /** Resolves when it serves. */
  const deploy = async (wish: Fields, caller: Caller = {}): Promise<string> => {
    const { told, text } = await ask('POST', '/api/v1/deployments', wish, caller);
    const name = (told['output'] as Fields | undefined)?.['deployed_model'];
    assert.equal(typeof name, 'string', text);
    await settled(String(name), 'RUNNING', caller);
    return String(name);
  };
  const settled = (name: string, status: string, caller: Caller = {}) =>
    until(`${name} ${status}`, PATIENCE, async () => {
      const { told } = await ask('GET', `/api/v1/deployments/${name}`, undefined, caller);
      return (told['output'] as Fields | undefined)?.['status'] === status ? true : undefined;
    });
  /** Requests of it that ended, as the metrics have them. */
  const counted = async (deployment: string): Promise<number> => {
    const metrics = (await service?.sharing.readMeter()) as readonly Metric[];
    const all = metrics.find(({ name }) => name === 'parley_deployment_requests_total')?.values ?? [];
    return all.filter(({ labels }) => labels['deployment'] === deployment).reduce((sum, { value }) => sum + value, 0);
  };
  const chat = (model: string, content = 'Hi', more: Fields = {}, caller?: Caller) =>
    ask('POST', CHAT, { model, messages: user(content), ...more }, caller);

  for (const plan of ['mu', 'cu', 'ptu']) {
    const model = `all-${plan}`;
    for (const [dialect, path, body, says, echoes] of [
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
      test(`${dialect} of plan ${plan}`, async () => {
        const { status, text } = await ask('POST', path, { model, ...body });
        assert.equal(status, 200, text);
        assert.match(text, says);
        if (echoes) assert.match(text, new RegExp(`"model":"${model}"`));
      });

    test(`translation of plan ${plan}`, async () => {
      const more = { translation_options: { source_lang: 'English', target_lang: 'German' } };
      const { status, text } = await chat(`svc-mt-plus-${plan}`, 'Good morning', more);
      assert.equal(status, 200, text);
      assert.match(text, new RegExp(`"model":"svc-mt-plus-${plan}"`));
    });

    test(`a response in the background, and a conversation, of plan ${plan}`, async () => {
      const made = await ask('POST', RESPONSES, { model, input: 'Hi', background: true });
      assert.equal(made.status, 200, made.text);
      const done = await until('the answer', PATIENCE, async () => {
        const { told, text } = await ask('GET', `${RESPONSES}/${String(made.told['id'])}`);
        return ['queued', 'in_progress'].includes(String(told['status'])) ? undefined : text;
      });
      assert.match(done, /"status":"completed".*You said: Hi/s);
      assert.match(done, new RegExp(`"model":"${model}"`));
      const opened = await ask('POST', '/compatible-mode/v1/conversations', {});
      const turn = { model, input: 'Hi', conversation: opened.told['id'] };
      assert.equal((await ask('POST', RESPONSES, turn)).status, 200);
      const next = await ask('POST', RESPONSES, { ...turn, input: 'And?' });
      assert.match(next.text, /You said: And\?/);
    });
  }

  test('lines of a batch call the deployments of its owner, and nobody else’s', async () => {
    const line = (id: string) =>
      JSON.stringify({
        custom_id: id,
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'all-mu', messages: user('Hi') },
      });
    const run = async (caller: Caller) => {
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', new Blob([`${line('a')}\n${line('b')}\n`]), 'in.jsonl');
      const { told: file } = await ask('POST', '/v1/files', form, caller);
      const wish = { input_file_id: file['id'], endpoint: '/v1/chat/completions', completion_window: '24h' };
      const { told: batch } = await ask('POST', '/v1/batches', wish, caller);
      return await until('the end of the batch', PATIENCE, async () => {
        const { told } = await ask('GET', `/v1/batches/${String(batch['id'])}`, undefined, caller);
        return ['completed', 'failed'].includes(String(told['status'])) ? told : undefined;
      });
    };
    const before = await counted('all-mu');
    const own = await run({});
    assert.deepEqual([own['status'], own['request_counts']], ['completed', { total: 2, completed: 2, failed: 0 }]);
    const { text } = await ask('GET', `/v1/files/${String(own['output_file_id'])}/content`);
    assert.match(text, /You said: Hi.*"model":"all-mu"/);
    const strange = await run({ workspace: 'strange' });
    assert.equal(strange['status'], 'failed');
    assert.equal(await counted('all-mu'), before + 2);
  });

  test('they are in the lists of models of their workspace, and in no other', async () => {
    for (const path of ['/compatible-mode/v1/models', '/apps/anthropic/v1/models', '/api/v1/models?page_size=100']) {
      assert.match((await ask('GET', path)).text, /"all-mu"/, path);
      assert.doesNotMatch((await ask('GET', path, undefined, { workspace: 'strange' })).text, /all-mu/, path);
      assert.doesNotMatch((await ask('GET', path, undefined, { region: 'us-east-1' })).text, /all-mu/, path);
    }
    for (const path of ['/compatible-mode/v1/models/all-mu', '/apps/anthropic/v1/models/all-mu']) {
      assert.equal((await ask('GET', path)).status, 200, path);
      assert.equal((await ask('GET', path, undefined, { workspace: 'strange' })).status, 404, path);
    }
  });

  test('for another workspace or region a name is as unknown as any, in each dialect', async () => {
    for (const caller of [{ workspace: 'strange' }, { region: 'us-east-1' }] as const)
      for (const [path, body] of [
        [CHAT, { messages: user('Hi') }],
        [MESSAGES, { messages: user('Hi'), max_tokens: 9 }],
        [GENERATION, { input: { messages: user('Hi') } }],
        [VECTORS, { input: { texts: ['Hi'] } }],
      ] as const) {
        const [theirs, nobodys] = await Promise.all(
          ['all-mu', 'all-no'].map((model) => ask('POST', path, { model, ...body }, caller)),
        );
        const without = (text = '', name = ''): string =>
          text
            .replaceAll(name, '…')
            .replaceAll(/"(request_id|id)":"[^"]*"/g, '')
            .replaceAll(/chatcmpl-[^"]*/g, '');
        assert.ok((theirs?.status ?? 0) >= 400, path);
        assert.equal(theirs?.status, nobodys?.status);
        assert.equal(without(theirs?.text, 'all-mu'), without(nobodys?.text, 'all-no'));
      }
  });

  test('the same name is another deployment in another workspace and another region', async () => {
    const places: readonly Caller[] = [{}, { workspace: 'second' }, { region: 'us-east-1' }];
    for (const [index, caller] of places.entries()) {
      const wish = {
        model_name: 'all',
        plan: 'mu',
        capacity: 1,
        suffix: 'same',
        max_context_length: 256 * (index + 1),
      };
      assert.equal(await deploy(wish, caller), 'all-same');
    }
    const long = Array.from({ length: 300 }, () => 'word').join(' ');
    const answers = await Promise.all(places.map(async (caller) => (await chat('all-same', long, {}, caller)).status));
    assert.deepEqual(answers, [400, 200, 200]);
    await ask('PUT', '/api/v1/deployments/all-same/scale', { capacity: 0 });
    await settled('all-same', 'STOPPED');
    assert.equal((await chat('all-same')).status, 503);
    assert.equal((await chat('all-same', 'Hi', {}, { workspace: 'second' })).status, 200);
  });

  test('what serves nothing says so in the words of each protocol', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'zero' });
    await ask('PUT', `/api/v1/deployments/${name}/scale`, { capacity: 0 });
    const why =
      /^Deployment all-zero serves no calls: its status is (UPDATING|STOPPED)\. Its capacity is 0; scale it up to use it\.$/;
    const told = async (path: string, body: Fields) => {
      const answer = await ask('POST', path, { model: name, ...body });
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.headers.get('retry-after'), '60');
      return answer.told;
    };
    const compatible = (await told(CHAT, { messages: user('Hi') }))['error'] as Fields;
    assert.match(String(compatible['message']), why);
    assert.equal(typeof compatible['code'], 'string');
    const anthropic = await told(MESSAGES, { messages: user('Hi'), max_tokens: 9 });
    assert.deepEqual([anthropic['type'], (anthropic['error'] as Fields)['type']], ['error', 'overloaded_error']);
    assert.match(String((anthropic['error'] as Fields)['message']), why);
    const native = await told(GENERATION, { input: { messages: user('Hi') } });
    assert.match(String(native['message']), why);
    assert.equal(typeof native['request_id'], 'string');
    assert.match(JSON.stringify(await told(RESPONSES, { input: 'Hi' })), /serves no calls/);
    assert.match(
      JSON.stringify(await told('/api/v1/tokenizer', { input: { messages: user('Hi') } })),
      /serves no calls/,
    );
    assert.match(JSON.stringify(await told('/compatible-mode/v1/embeddings', { input: 'Hi' })), /serves no calls/);
    await ask('PUT', `/api/v1/deployments/${name}/scale`, { capacity: 1 });
    await settled(name, 'RUNNING');
    assert.equal((await chat(name)).status, 200);
  });

  test('one whose engine does not come up is refused with when to come again', async () => {
    const { told } = await ask('POST', '/api/v1/deployments', { model_name: 'all', capacity: 1, suffix: 'new' });
    assert.equal((told['output'] as Fields)['status'], 'PENDING');
    const answer = await chat('all-new');
    // It may be there by now.
    if (answer.status === 503) assert.equal(answer.headers.get('retry-after'), '5');
    await settled('all-new', 'RUNNING');
    assert.equal((await chat('all-new')).status, 200);
  });

  test('reserved tokens serve although the shared engine is taken, and are refused by name when they are used up', async () => {
    const ptu_capacity = { input_tpm: 60, output_tpm: 40, thinking_output_tpm: 0 };
    const name = await deploy({ model_name: 'all', plan: 'ptu', ptu_capacity, suffix: 'few' });
    const hanging = new AbortController();
    const { url, secret } = { url: at.get('cn-beijing') ?? '', secret: await keyOf({ workspace: 'crowd' }) };
    const crowd = Array.from({ length: 12 }, () =>
      fetch(`${url}${CHAT}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'all', messages: user(says('a ', { hang: true })), stream: true }),
        signal: hanging.signal,
      }).catch(() => undefined),
    );
    // Both sequences of the shared engine have begun to answer, and nobody else's turn comes.
    await Promise.any(crowd);
    // Far more than the minute's: what comes back while the machine stalls is not enough for another call.
    const served = await chat(name, says({ repeat: 'w ', times: 80 }));
    assert.equal(served.status, 200, served.text);
    hanging.abort();
    await Promise.all(crowd);
    const over = await chat(name);
    assert.equal(over.status, 429, over.text);
    assert.match(
      over.text,
      /\(output_tpm: deployment all-few has 40 tokens per minute, and enough of them again in \d+ s\)/,
    );
    assert.ok(Number(over.headers.get('retry-after')) > 0);
    const anthropic = await ask('POST', MESSAGES, { model: name, messages: user('Hi'), max_tokens: 5 });
    assert.deepEqual([anthropic.status, (anthropic.told['error'] as Fields)['type']], [429, 'billing_error']);
    assert.equal(
      (await ask('POST', GENERATION, { model: name, input: { messages: user('Hi') } })).told['code'],
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
      'what is larger than a minute’s is served when it is all there',
    );
    assert.match((await chat(other)).text, /input_tpm: deployment all-input has 60/);
  });

  test('limits of requests and tokens are in force at once, and name themselves', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'limits', rpm_limit: 1 });
    assert.equal((await chat(name)).status, 200);
    const second = await chat(name);
    assert.equal(second.status, 429);
    assert.match(second.text, /\(rpm_limit: deployment all-limits has 1 requests per minute/);
    await ask('PUT', `/api/v1/deployments/${name}`, { rpm_limit: null, tpm_limit: 3 });
    assert.equal((await chat(name)).status, 200);
    assert.match((await chat(name)).text, /\(tpm_limit: deployment all-limits has 3 tokens per minute/);
    await ask('PUT', `/api/v1/deployments/${name}/update`, { tpm_limit: null });
    for (let call = 0; call < 5; call++) assert.equal((await chat(name)).status, 200);
  });

  test('a context of its own holds for prompts and answers, on its own engine and on a shared one', async () => {
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
      const { told } = await chat(name, says({ repeat: 'w ', times: 1000 }));
      const { prompt_tokens: prompt, completion_tokens: answer } = told['usage'] as Readonly<Record<string, number>>;
      assert.equal(Number(prompt) + Number(answer), 256);
      assert.match(JSON.stringify(told['choices']), /"finish_reason":"length"/);
    }
  });

  test('lines of the log and metrics have its name, and lose it with it', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'named' });
    await chat(name);
    await until('its line of the log', PATIENCE, async () =>
      requests.some(({ deployment, model, asked }) => deployment === name && model === 'all' && asked === name)
        ? true
        : undefined,
    );
    const metrics = async () => JSON.stringify(await service?.sharing.readMeter());
    assert.equal(await counted(name), 1);
    assert.match(await metrics(), /"deployment":"all-named"/);
    await ask('DELETE', `/api/v1/deployments/${name}`);
    await until('the end of it', PATIENCE, async () => ((await metrics()).includes('all-named') ? undefined : true));
    assert.equal((await chat(name)).status, 404);
  });

  test('one that thinks by default is asked to, unless the request says otherwise', async () => {
    const name = await deploy({ model_name: 'all', plan: 'mu', capacity: 1, suffix: 'think', enable_thinking: true });
    const ignored = async (more: Fields) => (await chat(name, 'Hi', more)).headers.get('x-parley-ignored') ?? '';
    // The scripted engine's model cannot think, and whoever asks for it hears that.
    assert.match(await ignored({}), /enable_thinking/);
    assert.doesNotMatch(await ignored({ enable_thinking: false }), /enable_thinking/);
  });

  test('where its model can, it thinks by default in every dialect, and the request may say otherwise', async () => {
    const name = await deploy({ model_name: 'svc-plus', capacity: 1, suffix: 'thinks', enable_thinking: true });
    const messages = user(says('so', '</think>', 'yes'));
    for (const [path, body, otherwise, thought] of [
      [CHAT, { messages }, { enable_thinking: false }, /"reasoning_content":"so/],
      [MESSAGES, { messages, max_tokens: 99 }, { thinking: { type: 'disabled' } }, /"type":"thinking"/],
      [RESPONSES, { input: messages[0]?.content }, { reasoning: { effort: 'none' } }, /"type":"reasoning"/],
      [GENERATION, { input: { messages } }, { parameters: { enable_thinking: false } }, /"reasoning_content":"so/],
    ] as const) {
      const answer = await ask('POST', path, { model: name, ...body });
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.text, thought, path);
      assert.doesNotMatch((await ask('POST', path, { model: name, ...body, ...otherwise })).text, thought, path);
    }
    const plain = await deploy({ model_name: 'svc-plus', capacity: 1, suffix: 'plain' });
    assert.doesNotMatch((await ask('POST', CHAT, { model: plain, messages })).text, /"reasoning_content":"so/);
  });

  test('tokens of thought are reserved apart', async () => {
    const ptu_capacity = { ...PTU, thinking_output_tpm: 0 };
    const name = await deploy({ model_name: 'svc-plus', plan: 'ptu', ptu_capacity, suffix: 'apart' });
    assert.equal((await chat(name)).status, 200);
    const thinking = await chat(name, 'Hi', { enable_thinking: true });
    assert.equal(thinking.status, 429, thinking.text);
    assert.match(thinking.text, /thinking_output_tpm: deployment svc-plus-apart has 0 tokens per minute\)/);
  });
});
