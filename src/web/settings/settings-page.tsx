import { Fragment } from 'preact';
import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { HeadFacts } from '../../ledger/season/head-facts.ts';
import { type Adopted, settingsIn, takesTwo } from '../../runs/safety/adopt-settings.ts';
import { Field } from '../parts/fields.tsx';
import { shownAmountsIn } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import type { Person } from '../web.ts';
import type { Section } from './sections.ts';

interface SettingsProps {
  readonly sections: readonly Section[];
  readonly head: HeadFacts;
  /** This process's safety settings. */
  readonly safety: string;
  /** What came of adopting them, for whoever just tried. */
  readonly adopted: Adopted | '';
  readonly who: Person | null;
}

/** How payrun is set, what it stands on, and the switch that stops everything. */
export function SettingsPage({ sections, head, safety, adopted, who }: SettingsProps) {
  return (
    <>
      <Halt head={head} who={who} />
      {sections.map(({ title, facts }, index) => (
        <section key={title}>
          <h2>{title}</h2>
          <dl class={index === 0 ? 'facts border-start ps-3' : 'facts'}>
            {facts.map(([what, value]) => (
              <Fragment key={what}>
                <dt>{escapeUnseen(what)}</dt>
                <dd>{escapeUnseen(shownAmountsIn(value))}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
      <Safety head={head} safety={safety} adopted={adopted} who={who} />
      <p>
        <a href="/settings.csv">All of this as CSV</a>
      </p>
      <p>
        <a href="/notifications">Notifications</a>: who is notified, what waits, and what was given up
      </p>
      {who?.may('queues') === true ? (
        <p>
          <a href="/admin/queues">The queues</a>, to look at only
        </p>
      ) : null}
    </>
  );
}

type HaltProps = Pick<SettingsProps, 'head' | 'who'>;

function Halt({ head, who }: HaltProps) {
  return (
    <section class="card card-body mb-3">
      <h2 id="halt">Halt</h2>
      {head.halt === null ? (
        <p>
          Nothing is halted. A halt stops everything at once: nothing is sent for any run until two people release it.
        </p>
      ) : (
        <Release halt={head.halt} releaseBy={head.releaseBy} who={who} />
      )}
      {who?.may('halt') === true ? (
        <Form action="/halt" class="run-action">
          <Field
            label={head.halt === null ? 'Why everything is to stop' : 'Why it must stay halted (voids the proposal)'}
            name="reason"
            required
            maxLength={200}
          />
          <button type="submit" class="btn btn-outline-danger">
            Halt everything
          </button>
        </Form>
      ) : (
        <p class="hint">Your role may not halt or release.</p>
      )}
    </section>
  );
}

function Release({ halt, releaseBy, who }: { halt: string } & Pick<HeadFacts, 'releaseBy'> & Pick<HaltProps, 'who'>) {
  const isOwn = releaseBy !== null && who !== null && isSamePerson(releaseBy, who.name);
  return (
    <>
      <p>Everything is halted: {escapeUnseen(halt)}</p>
      {releaseBy === null ? null : <p class="proposal">{escapeUnseen(releaseBy)} proposes to release it.</p>}
      {isOwn ? <p>It waits for another person.</p> : null}
      {who?.may('settle') === true && !isOwn ? (
        <Form action="/release">
          <button type="submit" class="btn">
            {releaseBy === null ? 'Propose to release' : 'Confirm: release'}
          </button>
        </Form>
      ) : null}
    </>
  );
}

const ADOPTED: Readonly<Record<Adopted, string>> = {
  there: 'The ledger has these settings already.',
  adopted: 'Changed. Workers that run keep what they were started with: stop them and start them again.',
  proposed: 'You have proposed them. Another admin has to do the same.',
  'same-person': 'You have proposed them before. Another admin has to confirm it.',
};

function Safety({ head, safety, adopted, who }: Omit<SettingsProps, 'sections'>) {
  const isSame = head.safety === safety;
  return (
    <section>
      <h2 id="safety">Safety settings</h2>
      <p>What the safety rule depends on. Every process that pays must have those of the ledger.</p>
      {adopted === '' ? null : (
        <p class="proposal">
          <output>{ADOPTED[adopted]}</output>
        </p>
      )}
      <SafetyTable ledger={settingsIn(head.safety)} own={settingsIn(safety)} />
      {isSame ? (
        <p class="hint">
          To change them, set the variables for all processes, stop the workers, start this one anew, and adopt them
          here.
        </p>
      ) : null}
      {!isSame && who?.may('settings') === true ? (
        <Form action="/settings/adopt">
          <p>
            {takesTwo(head.safety, safety)
              ? 'Limits or approval change: that takes two admins.'
              : 'Do so while no worker runs.'}
          </p>
          <input type="hidden" name="before" value={head.safety} />
          <button type="submit" class="btn btn-outline-danger">
            Make those of this process the ledger's
          </button>
        </Form>
      ) : null}
    </section>
  );
}

function SafetyTable({ ledger, own }: { ledger: readonly string[]; own: readonly string[] }) {
  const rows = Array.from({ length: Math.max(ledger.length, own.length) }, (_, index) => [ledger[index], own[index]]);
  return (
    <Table caption="Safety settings of the ledger and of this process" columns={['Ledger', 'This process']}>
      {rows.map(([ofLedger = '–', ofProcess = '–']) => (
        <tr key={`${ofLedger} ${ofProcess}`}>
          <td>{ofLedger}</td>
          <td class={ofLedger === ofProcess ? 'dim' : 'wrong'}>{ofLedger === ofProcess ? 'the same' : ofProcess}</td>
        </tr>
      ))}
    </Table>
  );
}
