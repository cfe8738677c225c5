import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VLLM_BATCH_ADAPTERS_MAX } from '../limits.ts';
import { buildCommandLine, type LaunchParameters, type ProgramSettings } from './command-line.ts';

const SETTINGS: ProgramSettings = {
  model: '/models/a b.gguf',
  servedName: 'svc-tiny',
  contextTokens: 4_096,
  sequences: 4,
  threads: 2,
  gpu: 'auto',
};

const PARAMETERS: LaunchParameters = { host: '127.0.0.1', port: 4711, apiKey: 'secret-key', folder: '/run/one' };

describe('buildCommandLine', () => {
  it('gives llama-server the context of all slots together, and the key in its environment', () => {
    const line = buildCommandLine('llama-server', SETTINGS, PARAMETERS);
    assert.equal(line.command, 'llama-server');
    assert.equal(
      line.args.join(' '),
      '--model /models/a b.gguf --alias svc-tiny --host 127.0.0.1 --port 4711 --ctx-size 16384 --parallel 4 --threads 2 --jinja --no-webui',
    );
    assert.deepEqual(line.environment, { LLAMA_API_KEY: 'secret-key' });
  });

  it('leaves the context to the program where none is stated', () => {
    const { contextTokens: _, ...settings } = SETTINGS;
    const getArguments = (form: Parameters<typeof buildCommandLine>[0]): string =>
      buildCommandLine(form, settings, PARAMETERS).args.join(' ');
    assert.doesNotMatch(getArguments('llama-server'), /--ctx-size|undefined/);
    assert.match(getArguments('vllm'), /--max-model-len auto --max-num-seqs 4/);
    assert.doesNotMatch(getArguments('sglang'), /--context-length|undefined/);
    assert.equal(getArguments(['serve', '--context', '{context}']), '--context {context}');
  });

  it('gives llama-server the projector with which it reads images', () => {
    const { args } = buildCommandLine(
      'llama-server',
      { ...SETTINGS, projectorFile: '/models/mmproj.gguf' },
      PARAMETERS,
    );
    assert.equal(args[args.indexOf('--mmproj') + 1], '/models/mmproj.gguf');
  });

  it('makes llama-server apply a LoRA adapter', () => {
    const adapters = [{ name: 'sql', path: '/models/sql.gguf' }];
    const { args } = buildCommandLine('llama-server', { ...SETTINGS, adapters }, PARAMETERS);
    assert.match(args.join(' '), / --lora \/models\/sql\.gguf /);
  });

  it('makes vLLM serve LoRA adapters beside the model, with memory for their rank', () => {
    const list = (settings: Partial<ProgramSettings>): string[] => {
      const { args } = buildCommandLine('vllm', { ...SETTINGS, ...settings }, PARAMETERS);
      return args.slice(args.indexOf('--enable-tokenizer-info-endpoint') + 1);
    };
    const adapters = [
      { name: 'sql', path: '/a=b,c' },
      { name: 'soft', path: 'org/soft' },
    ];
    const modules = ['--lora-modules', '{"name":"sql","path":"/a=b,c"}', '{"name":"soft","path":"org/soft"}'];
    assert.deepEqual(list({}), []);
    assert.deepEqual(list({ adapters }), ['--enable-lora', '--max-loras', '2', ...modules]);
    assert.deepEqual(list({ adapters, adapterRank: 16 }), list({ adapters }));
    const own = ['--max-loras', '1'];
    assert.deepEqual(
      list({ adapters, adapterRank: 24, extraArguments: own }),
      ['--enable-lora', '--max-loras', '2', '--max-lora-rank', '32'].concat(modules, own),
    );
    const many = Array.from({ length: VLLM_BATCH_ADAPTERS_MAX + 1 }, (_, at) => ({ name: `a${at}`, path: '/a' }));
    assert.equal(list({ adapters: many })[2], `${VLLM_BATCH_ADAPTERS_MAX}`);
  });

  it("adds options of llama-server, and the operator's arguments last", () => {
    const wanted = { gpu: false, purpose: 'embeddings', extraArguments: ['--threads', '7'] } as const;
    const { args, command } = buildCommandLine(
      'llama-server',
      { ...SETTINGS, ...wanted, program: '/opt/llama-server' },
      PARAMETERS,
    );
    assert.equal(command, '/opt/llama-server');
    assert.equal(
      args.slice(-7).join(' '),
      '--n-gpu-layers 0 --jinja --no-webui --embeddings --threads 7'.split(' ').slice(-7).join(' '),
    );
    assert.ok(
      buildCommandLine('llama-server', { ...SETTINGS, purpose: 'reranking' }, PARAMETERS).args.includes('--reranking'),
    );
  });

  it("disables usage statistics of vLLM unless the operator enables them, and never uses the operator's key", () => {
    const environment = { VLLM_NO_USAGE_STATS: '0', VLLM_API_KEY: 'other' };
    const line = buildCommandLine('vllm', { ...SETTINGS, model: 'org/model' }, PARAMETERS);
    assert.equal(
      [line.command, ...line.args].join(' '),
      'vllm serve org/model --served-model-name svc-tiny --host 127.0.0.1 --port 4711 --max-model-len 4096 --max-num-seqs 4 --enable-prompt-tokens-details --enable-tokenizer-info-endpoint',
    );
    assert.deepEqual(line.environment, { VLLM_NO_USAGE_STATS: '1', VLLM_API_KEY: 'secret-key' });
    assert.deepEqual(buildCommandLine('vllm', { ...SETTINGS, environment }, PARAMETERS).environment, {
      VLLM_NO_USAGE_STATS: '0',
      VLLM_API_KEY: 'secret-key',
    });
  });

  it('passes the key of SGLang in a file', () => {
    const line = buildCommandLine('sglang', { ...SETTINGS, model: 'org/model', purpose: 'embeddings' }, PARAMETERS);
    assert.equal(
      [line.command, ...line.args].join(' '),
      'python3 -m sglang.launch_server --config /run/one/sglang.yaml --model-path org/model --served-model-name svc-tiny --host 127.0.0.1 --port 4711 --context-length 4096 --max-running-requests 4 --enable-cache-report --is-embedding',
    );
    assert.deepEqual(line.files, { 'sglang.yaml': '{"api-key":"secret-key"}\n' });
  });

  it('fills known placeholders of a free form in words and variables, and keeps other braces', () => {
    const words = [
      './serve',
      '--at={host}:{port}',
      '{model}',
      '{name}/{context}/{sequences}/{threads}',
      '{"a":{b}}',
    ] as const;
    const line = buildCommandLine(
      words,
      { ...SETTINGS, extraArguments: ['--key-file', '{keyFile}'], environment: { SERVE_KEY: '{key}', PLAIN: 'x' } },
      PARAMETERS,
    );
    assert.deepEqual(line, {
      command: './serve',
      args: ['--at=127.0.0.1:4711', '/models/a b.gguf', 'svc-tiny/4096/4/2', '{"a":{b}}', '--key-file', '/run/one/key'],
      environment: { SERVE_KEY: 'secret-key', PLAIN: 'x' },
      files: { key: 'secret-key\n' },
    });
  });

  it('shows the key to other users in no preset', () => {
    for (const preset of ['llama-server', 'vllm', 'sglang'] as const)
      assert.ok(!buildCommandLine(preset, SETTINGS, PARAMETERS).args.join(' ').includes('secret-key'), preset);
  });
});
