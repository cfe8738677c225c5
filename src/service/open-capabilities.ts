import type { Lifecycle } from '../lib/lifecycle.ts';
import type { Capability, CapabilityContext, CapabilityModule, CapabilityTools, ToolContext } from './capability.ts';
import type { ServiceContext } from './service-context.ts';

/** Opens the tools of the capabilities in their order; the lifecycle closes them. */
export async function openCapabilityTools(
  capabilities: readonly Capability[],
  context: ToolContext,
  lifecycle: Pick<Lifecycle, 'open'>,
): Promise<readonly CapabilityTools[]> {
  const opened: CapabilityTools[] = [];
  for (const capability of capabilities) {
    if (!capability.openTools) continue;
    const open = capability.openTools.bind(capability, context);
    opened.push(await lifecycle.open(`${capability.name} tools`, open, (tools) => tools.close?.()));
  }
  return opened;
}

/** Joins the tools of all capabilities. Each capability provides other ones. */
export const joinCapabilityTools = (
  tools: readonly CapabilityTools[],
): Pick<CapabilityTools, 'code' | 'readPage' | 'localIndex'> => Object.assign({}, ...tools);

/** Opens the endpoints and jobs of the service's capabilities; they are closed with the service. */
export async function openCapabilities(
  { overrides, lifecycle, config, clock, log, store, jobNotifier, runsCleanup }: ServiceContext,
  modules: Omit<CapabilityContext, keyof ServiceContext>,
): Promise<readonly CapabilityModule[]> {
  const context: CapabilityContext = { config, clock, log, store, jobNotifier, runsCleanup, ...modules };
  const opened: CapabilityModule[] = [];
  for (const capability of overrides.capabilities ?? []) {
    if (!capability.open) continue;
    const open = capability.open.bind(capability, context);
    opened.push(await lifecycle.open(capability.name, open, (module) => module.close?.()));
  }
  return opened;
}
