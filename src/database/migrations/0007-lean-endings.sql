-- compatible-from: 1
--
-- One index less for every job that ends. Lists go by id, and the walk of cleanup() does so too; what
-- asked for the order of the endings is the count of dead jobs, and those are few. The index goes
-- first: its lock is the strongest that is asked for here, so nobody can stand between two.

drop index millrace.finished_list;

create index {{finished_dead}} on millrace.finished (finished_at) where state = 'dead';

comment on index millrace.finished_dead is 'job_stats counts the newest dead jobs.';
