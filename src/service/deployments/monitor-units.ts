import type { DeploymentUnits } from './deployment-units.ts';
import { probeUnits } from './probe-units.ts';
import type { LocalDeployment, ServingUnits } from './local-deployment.ts';

type Probed = Pick<DeploymentUnits, 'units' | 'isUp'>;

/** Compares the units with their last state. */
export function findUnitChanges({ opened, answering }: Pick<ServingUnits, 'answering'> & { readonly opened: Probed }): {
  /** Indexes of units that answered, and are down now. */
  readonly lost: readonly number[];
  /** Indexes of units that are up, and have not answered a probe since. */
  readonly recovered: readonly number[];
} {
  const isUp = (unit: number): boolean => isUnitUp(opened, unit);
  return {
    lost: [...answering].filter((unit) => !isUp(unit)),
    recovered: [...opened.units.keys()].filter((unit) => !answering.has(unit) && isUp(unit)),
  };
}

/** Records which units are lost; a unit that is up again must first answer a probe. */
export function monitorUnits(
  deployment: LocalDeployment,
  current: ServingUnits,
  { signal, onChange }: { readonly signal: AbortSignal; readonly onChange: () => void },
): void {
  const { opened } = current;
  const { lost, recovered } = findUnitChanges(current);
  if (lost.length > 0) {
    current.answering = new Set([...current.answering].filter((unit) => !lost.includes(unit)));
    deployment.reason = `${lost.length} of ${opened.units.length} units are lost: an engine exited or does not answer.`;
    onChange();
  }
  if (recovered.length === 0 || current.isProbing) return;
  current.isProbing = true;
  const engines = recovered.flatMap((unit) => opened.units[unit] ?? []);
  probeUnits(engines, deployment, signal)
    .then((results) => {
      const proven = recovered.filter((unit, at) => results[at] === undefined && isUnitUp(opened, unit));
      if (proven.length === 0 || deployment.current !== current) return;
      current.answering = new Set([...current.answering, ...proven]);
      deployment.reason =
        current.answering.size < current.wantedUnits ? (current.reason ?? deployment.reason) : undefined;
      onChange();
    })
    .catch(() => undefined) // rejects only when this process shuts down
    .finally(() => (current.isProbing = false));
}

function isUnitUp(opened: Probed, unit: number): boolean {
  const engine = opened.units[unit];
  return engine !== undefined && opened.isUp(engine);
}
