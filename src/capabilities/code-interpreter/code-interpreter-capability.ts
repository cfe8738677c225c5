import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandCapability } from '../../commands/command-capability.ts';
import type { Config } from '../../config/config.ts';
import type { ToolReport } from '../../service/readiness.ts';
import { chooseWheelFetcher } from '../../weights/choose-wheel-fetcher.ts';
import { PULL_LIMITS } from '../../weights/pull-limits.ts';
import { createCodeInterpreter } from './code-interpreter.ts';
import type { CodeInterpreterStatus } from './code-interpreter.ts';
import { createWheelsCommand } from './command/wheels-command.ts';
import { readPyodideDistribution } from './wheels/pyodide-distribution.ts';

/** Runs Python programs that models write, in a sandbox. */
export const codeInterpreter: CommandCapability = {
  name: 'code interpreter',
  openTools({ config, clock, log, isPrimary }) {
    const wheelsFolder = getWheelsFolder(config);
    const code = createCodeInterpreter({
      ...config.codeInterpreter,
      // The folder that `parley wheels add` creates; a folder that the configuration names must exist.
      wheelsFolder: config.codeInterpreter.wheelsFolder ?? (existsSync(wheelsFolder) ? wheelsFolder : undefined),
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
  createCommands: ({ load, env, stdout, stderr }) => [
    createWheelsCommand({
      getFolder: (flags) => getWheelsFolder(load(flags).config),
      readDistribution: readPyodideDistribution,
      openIndex: (target, signal) =>
        chooseWheelFetcher({
          python: env['PARLEY_PYTHON'] ?? 'python3',
          environment: env,
          fetch,
          limits: PULL_LIMITS,
          target,
          signal,
        }),
      fetch,
      stdout,
      stderr,
    }),
  ],
};

const getWheelsFolder = ({ data, codeInterpreter: { wheelsFolder } }: Config): string =>
  wheelsFolder ?? join(data, 'wheels');

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
