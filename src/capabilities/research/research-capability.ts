import type { CommandCapability } from '../../commands/command-capability.ts';
import { systemClock } from '../../lib/clock.ts';
import { startInterval } from '../../lib/start-interval.ts';
import { createAskUser } from './command/ask-user.ts';
import { openResearchRunner } from './command/open-research-runner.ts';
import { createResearchCommand } from './command/research-command.ts';
import { createDeepResearch } from './create-deep-research.ts';

/** Writes reports with citations, for API callers and as a command. */
export const research: CommandCapability = {
  ...createDeepResearch(),
  createCommands: ({ load, env, capabilities, stdin, stdout, stderr }) => [
    createResearchCommand({
      open: (flags, warn) => openResearchRunner(load(flags).config, { environment: env, warn, capabilities }),
      askUser: createAskUser({ stdin, stderr }),
      clock: systemClock,
      startInterval,
      stdout,
      stderr,
      isStyled: stderr.isTTY && !env['NO_COLOR'],
    }),
  ],
};
