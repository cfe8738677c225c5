import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { ServiceError } from '../core/error.ts';
import { createConfigCommand } from './config-command.ts';

const FILE = `
port: 8100
models:
  remote: { url: 'https://me:hunter2@models.example.com/v1', apiKey: sk-very-secret, apiKeyEnv: REMOTE_KEY }
`;

async function run(args: readonly string[], check = async (): Promise<unknown> => undefined): Promise<string> {
  let output = '';
  const command = createConfigCommand({
    load: (flags) => loadConfig({ flags, env: { PARLEY_DATA: '/srv/parley' }, readFile: () => FILE, cores: 4 }),
    check,
    stdout: { write: (text) => (output += text) },
  });
  await command.option('--port <number>').parseAsync(args, { from: 'user' });
  return output;
}

describe('parley config', () => {
  it('prints each value with its origin', async () => {
    const output = await run([]);
    assert.match(output, /^# file: \/srv\/parley\/parley.yaml\n/);
    assert.match(output, /^data +\/srv\/parley +env PARLEY_DATA$/m);
    assert.match(output, /^port +8100 +file \/srv\/parley\/parley.yaml$/m);
    assert.match(output, /^regions.cn-beijing.port +8100 +file \/srv\/parley\/parley.yaml$/m);
    assert.match(output, /^host +127.0.0.1 +default$/m);
    assert.match(await run(['--port', '9000']), /^port +9000 +flag --port$/m);
  });

  it('prints one JSON object with --json', async () => {
    const { file, config, origins } = JSON.parse(await run(['--json']));
    assert.equal(file, '/srv/parley/parley.yaml');
    assert.equal(config.engine.threads, 3);
    assert.equal(origins['engine.threads'], 'default');
    assert.equal(origins.models, 'file /srv/parley/parley.yaml');
  });

  it('hides secrets in both formats and shows their origin', async () => {
    for (const output of [await run([]), await run(['--json'])]) {
      assert.ok(!/hunter2|very-secret/.test(output), output);
      assert.ok(output.includes('REMOTE_KEY') && output.includes('models.example.com'));
    }
  });

  it('prints nothing if the models are invalid', async () => {
    const refused = new ServiceError('invalid-request', 'models.x: no');
    await assert.rejects(
      run([], () => Promise.reject(refused)),
      refused,
    );
  });
});
