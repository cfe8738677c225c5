import type { GuestDesk } from '../../engines/sharing/guest-desk.ts';
import type { Answers } from '../../lib/message-calls.ts';
import type { Loan } from '../deployed/deployed-engines.ts';
import type { DeployedFunctions } from './protocol.ts';

/** What one worker holds of deployments. */
interface DeployedDesk {
  readonly answers: Answers<DeployedFunctions>;
  /** The worker is gone. */
  end(): void;
}

/** @param lend Undefined where nothing of a deployment serves. */
export function createDeployedDesk(
  lend: (id: string) => Loan | undefined,
  { hold }: Pick<GuestDesk, 'hold'>,
): DeployedDesk {
  const loans = new Map<number, Loan>();
  let lent = 0;
  return {
    answers: {
      'deployed.open'(id) {
        const loan = lend(id);
        if (!loan) return null;
        const number = ++lent;
        loans.set(number, loan);
        const { name, entry, units, reach, processes } = loan;
        // None of them is closed before all are given back.
        const held = processes.map((supervised) => hold({ supervised, release: () => undefined }));
        return { loan: number, held, units: { name, entry, units, reach } };
      },
      'deployed.release'({ loan }) {
        loans.get(loan)?.release();
        loans.delete(loan);
      },
    },
    end() {
      for (const { release } of loans.values()) release();
      loans.clear();
    },
  };
}
