import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { lacksWeights } from '../models-folder.ts';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_SEQUENCES_MAX, DEPLOYMENT_UNIT_BYTES } from '../../src/core/limits.ts';
import { readModelShape } from '../../src/weights/gguf-head.ts';
import { until } from '../until.ts';
import { TINY, weightsFile } from './weights.ts';

type Fields = Readonly<Record<string, unknown>>;

const PATIENCE = { withinMs: 60_000 };

/** Processes of an embedded engine that the service has started, and that are alive. */
function enginePids(parent: number): readonly number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('engines/llama/process');
    } catch {
      return false;
    }
  });
}

describe(
  'a deployment in the embedded engine',
  { skip: lacksWeights('svc-tiny') || process.platform !== 'linux' },
  () => {
    let parley: Parley;
    before(async () => {
      parley = await startParley({ config: 'deployments: {drainMs: 5000}\n' });
    });
    after(() => parley.stop());

    const call = async (method: string, path = '', body?: Fields): Promise<{ status: number; output: Fields }> => {
      const response = await fetch(`${parley.address}/api/v1/deployments${path}`, {
        method,
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return { status: response.status, output: ((await response.json()) as { output?: Fields }).output ?? {} };
    };
    const settled = (name: string, status: string, ready: number) =>
      until(`${name} ${status} ${ready}`, PATIENCE, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      });

    test('has a process of its own, which comes again when it ends, and ends with the deployment', async () => {
      const others = enginePids(parley.pid);
      await call('POST', '', { model_name: 'svc-tiny', plan: 'mu', capacity: 2, suffix: 'own' });
      await settled('svc-tiny-own', 'RUNNING', 2);
      const own = enginePids(parley.pid).filter((pid) => !others.includes(pid));
      assert.equal(own.length, 1);

      process.kill(own[0] ?? assert.fail(), 'SIGKILL');
      await settled('svc-tiny-own', 'RUNNING', 0);
      await settled('svc-tiny-own', 'RUNNING', 2);

      await call('PUT', '/svc-tiny-own/scale', { capacity: 3 });
      await settled('svc-tiny-own', 'RUNNING', 3);
      await until('one process', PATIENCE, async () =>
        enginePids(parley.pid).length === others.length + 1 ? true : undefined,
      );

      await call('PUT', '/svc-tiny-own/scale', { capacity: 0 });
      await settled('svc-tiny-own', 'STOPPED', 0);
      await until('no process', PATIENCE, async () =>
        enginePids(parley.pid).length === others.length ? true : undefined,
      );
      await call('PUT', '/svc-tiny-own/scale', { capacity: 1 });
      await settled('svc-tiny-own', 'RUNNING', 1);
      await call('DELETE', '/svc-tiny-own');
      await until('its end', PATIENCE, async () =>
        (await call('GET', '/svc-tiny-own')).status === 404 ? true : undefined,
      );
      assert.equal(enginePids(parley.pid).length, others.length);
    });

    test('has as many units as one process can have, says why, and takes no more memory than was reckoned with', async () => {
      const others = enginePids(parley.pid);
      const contextTokens = 256;
      const wish = {
        model_name: 'svc-tiny',
        plan: 'mu',
        capacity: 999,
        suffix: 'huge',
        max_context_length: contextTokens,
      };
      await call('POST', '', wish);
      await settled('svc-tiny-huge', 'RUNNING', DEPLOYMENT_SEQUENCES_MAX);
      const why = /"deployment":"svc-tiny-huge",.*"reason":"One engine process has at most 256 units/;
      await until('why', PATIENCE, async () => (why.test(parley.output()) ? true : undefined));
      const [own = assert.fail()] = enginePids(parley.pid).filter((pid) => !others.includes(pid));
      const file = weightsFile(TINY) ?? assert.fail();
      const { cacheBytesPerToken } = (await readModelShape(file)) ?? assert.fail();
      const reckoned = statSync(file).size + DEPLOYMENT_SEQUENCES_MAX * contextTokens * cacheBytesPerToken;
      const taken = 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${own}/status`, 'utf8'))?.[1]);
      const more = DEPLOYMENT_ENGINE_BYTES + DEPLOYMENT_SEQUENCES_MAX * DEPLOYMENT_UNIT_BYTES;
      assert.ok(taken <= reckoned + more, `${taken} bytes taken, ${reckoned} reckoned`);
      assert.ok(taken > reckoned / 2, `${taken} bytes taken, ${reckoned} reckoned`);
      await call('DELETE', '/svc-tiny-huge');
      await until('its end', PATIENCE, async () =>
        (await call('GET', '/svc-tiny-huge')).status === 404 ? true : undefined,
      );
    });
  },
);
