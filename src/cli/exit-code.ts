/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  defect: 1,
  usage: 2,
  fileRefused: 3,
  notPaid: 4,
  unsettled: 5,
  awaitingApproval: 6,
  unavailable: 69,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
