import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Web, WebDeps } from '../web.ts';
import { addAuditOperations } from './audit.ts';
import { addBlockListOperations } from './block-list.ts';
import { readBodies } from './bodies.ts';
import { addControlOperations } from './control.ts';
import { answerApiFaults } from './faults.ts';
import { addFileOperations } from './files.ts';
import { addInboxOperations } from './inbox.ts';
import { addLedgerOperations } from './ledger.ts';
import { addNotificationOperations } from './notifications.ts';
import { describeApi } from './openapi.ts';
import { addPayoutOperations } from './payouts.ts';
import { addPeopleOperations } from './people.ts';
import { addProposalOperations } from './proposals.ts';
import { addReportOperations } from './reports.ts';
import { addRowOperations } from './rows.ts';
import { addRunOperations } from './runs.ts';
import { addScheduleOperations } from './schedules.ts';
import { answerSafely } from './serializer.ts';
import { addToSettleOperations } from './to-settle.ts';

/** The API for programs, below /api/v1: what the pages do, with the same functions. */
export async function addApi(web: Web, deps: WebDeps): Promise<void> {
  await web.register(
    async (scope) => {
      const api: Web = scope.withTypeProvider<ZodTypeProvider>();
      readBodies(api);
      answerSafely(api);
      answerApiFaults(api, deps);
      await describeApi(api);
      addRunOperations(api, deps);
      addRowOperations(api, deps);
      addReportOperations(api, deps);
      addControlOperations(api, deps);
      addPayoutOperations(api, deps);
      addToSettleOperations(api, deps);
      addFileOperations(api, deps);
      addLedgerOperations(api, deps);
      addScheduleOperations(api, deps);
      addInboxOperations(api, deps);
      addNotificationOperations(api, deps);
      addBlockListOperations(api, deps);
      addAuditOperations(api, deps);
      addPeopleOperations(api, deps);
      addProposalOperations(api, deps);
    },
    { prefix: '/api/v1' },
  );
}
