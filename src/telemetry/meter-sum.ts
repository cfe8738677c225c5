import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Meter } from '../core/telemetry.ts';
import type { MeterSnapshot } from './meter.ts';

/** A process whose metrics are part of the sum. */
export interface MeterMember {
  /** Sets the total counts of the process since its start. Replaces its previous snapshot. */
  update(reading: MeterSnapshot): void;
  /** Ends the membership. The counts stay in the sum, so that no counter decreases; gauges are dropped. */
  leave(): void;
}

export interface MeterSum extends Pick<Meter, 'renderMetrics'> {
  join(): MeterMember;
}

/** Adds up the metrics of several processes. @param empty Snapshot of a meter without counts; it contains all names. */
export function createMeterSum(empty: MeterSnapshot): MeterSum {
  const active = new Map<object, MeterSnapshot>();
  // Gauges are those of the members that run now.
  let retired: MeterSnapshot = empty.map(clearGauge);
  let leaving: Promise<void> = Promise.resolve();

  const retire = async (reading: MeterSnapshot): Promise<void> => {
    const counts = reading.map(clearGauge);
    retired = await aggregate([retired, counts]).getMetricsAsJSON();
  };

  return {
    join() {
      let hasLeft = false;
      const member = {
        update(reading: MeterSnapshot): void {
          if (!hasLeft) active.set(member, reading);
        },
        leave(): void {
          const last = active.get(member);
          if (hasLeft) return;
          hasLeft = true;
          if (!last) return;
          // Keep the member active until its counts are part of `retired`, so that they are never counted twice or
          // missing.
          leaving = leaving.then(async () => {
            await retire(last);
            active.delete(member);
          });
        },
      };
      return member;
    },
    async renderMetrics() {
      await leaving;
      const sum = aggregate([retired, ...active.values()]);
      return { contentType: sum.contentType, text: await sum.metrics() };
    },
  };
}

/** Clears a gauge: one that is added up and has no labels becomes 0, another one has no value. Leaves other metrics. */
function clearGauge(metric: object): object {
  if (!('type' in metric) || metric.type !== 'gauge') return metric;
  const { values, aggregator } = metric as { readonly values?: readonly object[]; readonly aggregator?: string };
  const unlabeled = (values ?? []).filter((each) => 'labels' in each && Object.keys(each.labels ?? {}).length === 0);
  return { ...metric, values: aggregator === 'sum' ? unlabeled.map((each) => ({ ...each, value: 0 })) : [] };
}

/** The library declares a mutable array, but does not change it. */
const aggregate = (readings: readonly MeterSnapshot[]): Registry => AggregatorRegistry.aggregate([...readings]);
