import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { configCommand } from './config.ts';

const FILE = `
port: 8100
models:
  remote: { url: 'https://me:hunter2@models.example.com/v1', apiKey: sk-very-secret, apiKeyEnv: REMOTE_KEY }
`;

function run(args: readonly string[]): string {
  let output = '';
  const command = configCommand({
    load: (flags) => loadConfig({ flags, env: { PARLEY_DATA: '/srv/parley' }, readFile: () => FILE, cores: 4 }),
    stdout: { write: (text) => (output += text) },
  });
  command.option('--port <number>').parse(args, { from: 'user' });
  return output;
}

describe('parley config', () => {
  it('prints each value with where it came from', () => {
    const output = run([]);
    assert.match(output, /^# file: \/srv\/parley\/parley.yaml\n/);
    assert.match(output, /^data +\/srv\/parley +env PARLEY_DATA$/m);
    assert.match(output, /^port +8100 +file \/srv\/parley\/parley.yaml$/m);
    assert.match(output, /^regions.cn-beijing.port +8100 +file \/srv\/parley\/parley.yaml$/m);
    assert.match(output, /^host +127.0.0.1 +default$/m);
    assert.match(run(['--port', '9000']), /^port +9000 +flag --port$/m);
  });

  it('prints one JSON object with --json', () => {
    const { file, config, origins } = JSON.parse(run(['--json']));
    assert.equal(file, '/srv/parley/parley.yaml');
    assert.equal(config.engine.threads, 3);
    assert.equal(origins['engine.threads'], 'default');
    assert.equal(origins.models, 'file /srv/parley/parley.yaml');
  });

  it('hides secrets in both forms, and shows where they are taken from', () => {
    for (const output of [run([]), run(['--json'])]) {
      assert.ok(!/hunter2|very-secret/.test(output), output);
      assert.ok(output.includes('REMOTE_KEY') && output.includes('models.example.com'));
    }
  });
});
