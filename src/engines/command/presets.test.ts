import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandLine } from './presets.ts';
import type { Place, ProgramSettings } from './presets.ts';

const SETTINGS: ProgramSettings = {
  model: '/models/a b.gguf',
  servedName: 'svc-tiny',
  contextTokens: 4_096,
  sequences: 4,
  threads: 2,
  gpu: 'auto',
};

const PLACE: Place = { host: '127.0.0.1', port: 4711, apiKey: 'secret-key', folder: '/run/one' };

describe('the command line of', () => {
  it('llama-server gives all slots together their context, and its key by the environment', () => {
    const line = commandLine('llama-server', SETTINGS, PLACE);
    assert.equal(line.command, 'llama-server');
    assert.equal(
      line.args.join(' '),
      '--model /models/a b.gguf --alias svc-tiny --host 127.0.0.1 --port 4711 --ctx-size 16384 --parallel 4 --threads 2 --jinja --no-webui',
    );
    assert.deepEqual(line.environment, { LLAMA_API_KEY: 'secret-key' });
  });

  it('llama-server says what is wanted beside that, and the words of the operator last', () => {
    const wanted = { gpu: false, metrics: true, purpose: 'embeddings', more: ['--threads', '7'] } as const;
    const { args, command } = commandLine(
      'llama-server',
      { ...SETTINGS, ...wanted, program: '/opt/llama-server' },
      PLACE,
    );
    assert.equal(command, '/opt/llama-server');
    assert.equal(
      args.slice(-8).join(' '),
      '--n-gpu-layers 0 --jinja --no-webui --metrics --embeddings --threads 7'.split(' ').slice(-8).join(' '),
    );
    assert.ok(commandLine('llama-server', { ...SETTINGS, purpose: 'reranking' }, PLACE).args.includes('--reranking'));
  });

  it('vllm tells nobody what it runs on, unless the operator says so; its key is never the operator’s', () => {
    const environment = { VLLM_NO_USAGE_STATS: '0', VLLM_API_KEY: 'other' };
    const line = commandLine('vllm', { ...SETTINGS, model: 'org/model' }, PLACE);
    assert.equal(
      [line.command, ...line.args].join(' '),
      'vllm serve org/model --served-model-name svc-tiny --host 127.0.0.1 --port 4711 --max-model-len 4096 --max-num-seqs 4 --enable-prompt-tokens-details --enable-tokenizer-info-endpoint',
    );
    assert.deepEqual(line.environment, { VLLM_NO_USAGE_STATS: '1', VLLM_API_KEY: 'secret-key' });
    assert.deepEqual(commandLine('vllm', { ...SETTINGS, environment }, PLACE).environment, {
      VLLM_NO_USAGE_STATS: '0',
      VLLM_API_KEY: 'secret-key',
    });
  });

  it('sglang reads its key from a file', () => {
    const line = commandLine(
      'sglang',
      { ...SETTINGS, model: 'org/model', metrics: true, purpose: 'embeddings' },
      PLACE,
    );
    assert.equal(
      [line.command, ...line.args].join(' '),
      'python3 -m sglang.launch_server --config /run/one/sglang.yaml --model-path org/model --served-model-name svc-tiny --host 127.0.0.1 --port 4711 --context-length 4096 --max-running-requests 4 --enable-cache-report --enable-metrics --is-embedding',
    );
    assert.deepEqual(line.files, { 'sglang.yaml': '{"api-key":"secret-key"}\n' });
  });

  it('a free form fills what it knows, in words and variables, and leaves other braces alone', () => {
    const words = [
      './serve',
      '--at={host}:{port}',
      '{model}',
      '{name}/{context}/{sequences}/{threads}',
      '{"a":{b}}',
    ] as const;
    const line = commandLine(
      words,
      { ...SETTINGS, more: ['--key-file', '{keyFile}'], environment: { SERVE_KEY: '{key}', PLAIN: 'x' } },
      PLACE,
    );
    assert.deepEqual(line, {
      command: './serve',
      args: ['--at=127.0.0.1:4711', '/models/a b.gguf', 'svc-tiny/4096/4/2', '{"a":{b}}', '--key-file', '/run/one/key'],
      environment: { SERVE_KEY: 'secret-key', PLAIN: 'x' },
      files: { key: 'secret-key\n' },
    });
  });

  it('no preset shows its key to other users', () => {
    for (const preset of ['llama-server', 'vllm', 'sglang'] as const)
      assert.ok(!commandLine(preset, SETTINGS, PLACE).args.join(' ').includes('secret-key'), preset);
  });
});
