import { NO_STOP } from '../../../core/request.ts';
import type { EngineRequest } from '../../engine.ts';

/** Chat request with a greeting and no options. */
export const REQUEST: EngineRequest = {
  id: 'r1',
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
};
