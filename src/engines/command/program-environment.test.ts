import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createProgramEnvironment, getSecretValues } from './program-environment.ts';

describe('createProgramEnvironment', () => {
  it("inherits paths and accelerator settings, and nothing of Parley's own", () => {
    const parleyEnvironment = {
      PATH: '/bin',
      LC_ALL: 'C.UTF-8',
      CUDA_VISIBLE_DEVICES: '1',
      TMPDIR: undefined,
      PARLEY_DATA: '/data',
      OPENAI_API_KEY: 'sk-1',
      HF_TOKEN: 'hf-1',
      CUDA_KEY: 'odd',
      LLAMA_ARG_HOST: '0.0.0.0',
      VLLM_API_KEY: 'theirs',
      DATABASE_URL: 'postgres://user:secret@host',
      HTTPS_PROXY: 'http://user:secret@proxy',
    };
    assert.deepEqual(createProgramEnvironment(parleyEnvironment, {}), {
      PATH: '/bin',
      LC_ALL: 'C.UTF-8',
      CUDA_VISIBLE_DEVICES: '1',
    });
  });

  it('prefers given variables, secrets included, to inherited ones', () => {
    assert.deepEqual(createProgramEnvironment({ PATH: '/bin' }, { PATH: '/opt', HF_TOKEN: 'hf-2' }), {
      PATH: '/opt',
      HF_TOKEN: 'hf-2',
    });
  });

  it('finds secrets by the names of their variables', () => {
    assert.deepEqual(getSecretValues({ HF_TOKEN: 'a', LLAMA_API_KEY: 'b', PATH: 'c' }), ['a', 'b']);
  });
});
