import { join } from 'node:path';
import type { Capability } from '../../service/capability.ts';
import type { ToolReport } from '../../service/readiness.ts';
import { createCodeInterpreter } from './code-interpreter.ts';
import type { CodeInterpreterStatus } from './code-interpreter.ts';

/** Runs Python programs that models write, in a sandbox. */
export const codeInterpreter: Capability = {
  name: 'code interpreter',
  openTools({ config, clock, log, isPrimary }) {
    const code = createCodeInterpreter({
      ...config.codeInterpreter,
      // A primary answers no requests, so it keeps no warm sandboxes.
      ...(isPrimary ? { warm: 0 } : {}),
      folder: join(config.data, 'code'),
      clock,
      log,
    });
    return {
      code,
      getReport: () => describeStatus(code.status()),
      verify: async () => void (await code.verify()),
      close: () => code.close(),
    };
  },
};

const describeStatus = ({
  configuredLevel,
  effectiveLevel,
  sandbox,
  layers = [],
  reason,
}: CodeInterpreterStatus): ToolReport => ({
  tool: 'code interpreter',
  state: effectiveLevel === 'off' ? 'off' : effectiveLevel === 'unproven' ? 'unproven' : 'on',
  ...(effectiveLevel === 'off'
    ? {}
    : { detail: sandbox === undefined ? configuredLevel : `${effectiveLevel}, ${sandbox} (${layers.join(', ')})` }),
  ...(effectiveLevel === 'unproven'
    ? { reason: 'sandbox verification is still running; see the log for its result' }
    : {}),
  ...(reason === undefined ? {} : { reason }),
});
