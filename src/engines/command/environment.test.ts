import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programEnvironment, secretsOf } from './environment.ts';

describe('the environment of a program', () => {
  it('holds where things are and which accelerator it may use, and nothing that is ours', () => {
    const ours = {
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
    assert.deepEqual(programEnvironment(ours, {}), { PATH: '/bin', LC_ALL: 'C.UTF-8', CUDA_VISIBLE_DEVICES: '1' });
  });

  it('holds what is given, secrets too, before what is inherited', () => {
    assert.deepEqual(programEnvironment({ PATH: '/bin' }, { PATH: '/opt', HF_TOKEN: 'hf-2' }), {
      PATH: '/opt',
      HF_TOKEN: 'hf-2',
    });
  });

  it('tells its secrets by their names', () => {
    assert.deepEqual(secretsOf({ HF_TOKEN: 'a', LLAMA_API_KEY: 'b', PATH: 'c' }), ['a', 'b']);
  });
});
