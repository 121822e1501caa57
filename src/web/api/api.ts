import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { escapeControls } from '../../intake/spreadsheet-cell.ts';
import type { Web, WebDeps } from '../web.ts';
import { readBodies } from './bodies.ts';
import { addFileOperations } from './files.ts';
import { describeApi } from './openapi.ts';
import { answerApiFaults } from './operations/faults.ts';
import { addInboxOperations } from './operations/inbox.ts';
import { addLedgerOperations } from './operations/ledger.ts';
import { addNotificationOperations } from './operations/notifications.ts';
import { addScheduleOperations } from './operations/schedules.ts';
import { addAuditOperations } from './people/audit.ts';
import { addBlockListOperations } from './people/block-list.ts';
import { addPeopleOperations } from './people/people.ts';
import { addControlOperations } from './runs/control.ts';
import { addPayoutOperations } from './runs/payouts.ts';
import { addPeriodOperation } from './runs/period.ts';
import { addReconcileOperation } from './runs/reconcile.ts';
import { addChangesOperation, addReportOperations } from './runs/reports.ts';
import { addRowOperations } from './runs/rows.ts';
import { addRunOperations } from './runs/runs.ts';
import { addSearchOperation } from './runs/search.ts';
import { addProposalOperations, addToSettleOperations } from './runs/to-settle.ts';

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
      addSearchOperation(api, deps);
      addReportOperations(api, deps);
      addChangesOperation(api, deps);
      addPeriodOperation(api, deps);
      addReconcileOperation(api, deps);
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

/** Replies are what their schemas say, as JSON that a terminal shows as it is. */
function answerSafely(api: Web): void {
  api.setSerializerCompiler<Parameters<typeof serializerCompiler>[0]['schema']>((route) => {
    const serialize = serializerCompiler(route);
    return (data) => escapeControls(serialize(data));
  });
}
