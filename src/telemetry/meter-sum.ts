import { AggregatorRegistry } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Meter } from '../core/telemetry.ts';
import type { MeterReading } from './meter.ts';

/** One process whose counts are added. */
export interface MeterMember {
  /** All that it has counted since its start; replaces what it said before. */
  take(reading: MeterReading): void;
  /** It has ended. What it counted stays in the sum, so that no counter falls; what it had open is not open any more. */
  leave(): void;
}

export interface MeterSum extends Pick<Meter, 'expose'> {
  join(): MeterMember;
}

/** Adds up what several processes count. @param empty A reading of a meter that has counted nothing: all its names. */
export function createMeterSum(empty: MeterReading): MeterSum {
  const present = new Map<object, MeterReading>();
  let retired = empty;
  let leaving: Promise<void> = Promise.resolve();

  const retire = async (reading: MeterReading): Promise<void> => {
    const counts = reading.filter((metric) => !('type' in metric && metric.type === 'gauge'));
    retired = await added([retired, counts]).getMetricsAsJSON();
  };

  return {
    join() {
      let isGone = false;
      const member = {
        take(reading: MeterReading): void {
          if (!isGone) present.set(member, reading);
        },
        leave(): void {
          const last = present.get(member);
          if (isGone) return;
          isGone = true;
          if (!last) return;
          // In the sum as present until it is in it as retired: never twice, and never not at all.
          leaving = leaving.then(async () => {
            await retire(last);
            present.delete(member);
          });
        },
      };
      return member;
    },
    async expose() {
      await leaving;
      const sum = added([retired, ...present.values()]);
      return { contentType: sum.contentType, text: await sum.metrics() };
    },
  };
}

/** The declaration wants arrays that may be changed, and changes none. */
const added = (readings: readonly MeterReading[]): Registry => AggregatorRegistry.aggregate([...readings]);
