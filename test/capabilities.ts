import * as capabilities from '../src/capabilities.ts';
import type { CommandCapability } from '../src/commands/command-capability.ts';

/** All capabilities of this tree. */
export const CAPABILITIES: readonly CommandCapability[] = Object.values(capabilities);

/** Returns why tests that join several capabilities are skipped, or false if the tree has all of them. */
export function getCapabilitySkipReason(...names: readonly string[]): string | false {
  const missing = names.filter((name) => !CAPABILITIES.some((capability) => capability.name === name));
  return missing.length > 0 && `this tree has no capability ${missing.join(', ')}`;
}
