// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace tessera::mpi {
namespace {

struct Case {
  const char* name;
  Variables variables;
  RankFacts facts;
  const char* launcher;  // or, for a contradiction, empty
  const char* names;     // what the message must contain
};

// Four ranks on one node, seen by rank 2, unless it says otherwise.
constexpr RankFacts k_rank_2{2, 4, 2, 4};

Variables open_mpi(Variables others = {}) {
  others.insert({{"OMPI_COMM_WORLD_RANK", "2"},
                 {"OMPI_COMM_WORLD_SIZE", "4"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                 {"PMIX_RANK", "2"}});
  return others;
}

const std::vector<Case> k_consistent{
    {"no_launcher", {}, {0, 1, 0, 1}, "none", ""},
    {"mpirun", open_mpi(), k_rank_2, "Open MPI", ""},
    {"mpirun_in_a_batch_script_of_a_larger_allocation",
     open_mpi({{"SLURM_JOB_ID", "7"},
               {"SLURM_PROCID", "0"},
               {"SLURM_LOCALID", "0"},
               {"SLURM_NODEID", "0"},
               {"SLURM_NTASKS", "16"},
               {"SLURM_TASKS_PER_NODE", "8(x2)"}}),
     k_rank_2, "Open MPI", ""},
    {"mpirun_in_an_interactive_shell",
     open_mpi({{"SLURM_STEP_ID", "4294967290"},
               {"SLURM_STEP_NUM_TASKS", "1"},
               {"SLURM_STEP_NUM_NODES", "1"},
               {"SLURM_PROCID", "0"},
               {"SLURM_NTASKS", "16"}}),
     k_rank_2, "Open MPI", ""},
    {"mpirun_whose_daemons_are_a_step",
     {{"OMPI_COMM_WORLD_RANK", "5"},
      {"OMPI_COMM_WORLD_SIZE", "8"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "2"},
      {"SLURM_STEP_NUM_NODES", "2"},
      {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
      {"SLURM_PROCID", "1"},
      {"SLURM_NODEID", "1"},
      {"SLURM_LOCALID", "0"}},
     {5, 8, 1, 4},
     "Open MPI",
     ""},
    {"mpirun_with_a_step_that_agrees",
     open_mpi({{"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NUM_TASKS", "4"},
               {"SLURM_STEP_NUM_NODES", "1"},
               {"SLURM_STEP_TASKS_PER_NODE", "4"},
               {"SLURM_NODEID", "0"},
               {"SLURM_PROCID", "2"},
               {"SLURM_LOCALID", "2"}}),
     k_rank_2, "Open MPI", ""},
    {"srun_block",
     {{"SLURM_STEP_ID", "3"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_NTASKS", "4"},
      {"SLURM_PROCID", "2"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NODEID", "1"},
      {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
      {"SLURM_TASKS_PER_NODE", "8(x4)"},
      {"PMIX_RANK", "2"}},
     {2, 4, 0, 2},
     "SLURM",
     ""},
    {"srun_cyclic",
     {{"SLURM_STEP_ID", "3"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_PROCID", "2"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "0"},
      {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
     {2, 4, 1, 2},
     "SLURM",
     ""},
    {"srun_uneven",
     {{"SLURM_STEPID", "3"},
      {"SLURM_NTASKS", "5"},
      {"SLURM_PROCID", "4"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NODEID", "2"},
      {"SLURM_TASKS_PER_NODE", "2(x2),1"}},
     {4, 5, 0, 1},
     "SLURM",
     ""},
    {"srun_with_pmi2",
     {{"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_PROCID", "2"},
      {"PMI_RANK", "2"},
      {"PMI_SIZE", "4"}},
     k_rank_2,
     "SLURM",
     ""},
    {"hydra",
     {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "4"}},
     k_rank_2,
     "PMI",
     ""},
    {"flux", {{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "4"}, {"FLUX_TASK_LOCAL_ID", "2"}}, k_rank_2, "Flux", ""},
    {"an_outer_pmi_job_does_not_bind", open_mpi({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), k_rank_2, "Open MPI", ""},
};

const std::vector<Case> k_contradictory{
    {"mpirun_of_another_mpi",
     {{"OMPI_COMM_WORLD_SIZE", "4"}},
     {0, 1, 0, 1},
     "",
     "OMPI_COMM_WORLD_SIZE=4, but MPI says size 1"},
    {"hydra_of_another_mpi",
     {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}},
     {0, 1, 0, 1},
     "",
     "PMI_SIZE=2, but MPI says size 1"},
    {"srun_without_pmi",
     {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}},
     {0, 1, 0, 1},
     "",
     "SLURM_STEP_NUM_TASKS=4, but MPI says size 1"},
    {"rank",
     {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
     k_rank_2,
     "",
     "OMPI_COMM_WORLD_RANK=3, but MPI says rank 2"},
    {"local_rank",
     {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}},
     k_rank_2,
     "",
     "OMPI_COMM_WORLD_LOCAL_RANK=0, but MPI says local rank 2"},
    {"pmix_rank", {{"PMIX_RANK", "1"}}, k_rank_2, "", "PMIX_RANK=1, but MPI says rank 2"},
    {"not_a_number", {{"OMPI_COMM_WORLD_RANK", "two"}}, k_rank_2, "", "OMPI_COMM_WORLD_RANK=two is not a number"},
    {"a_task_id_that_no_batch_script_has", open_mpi({{"SLURM_PROCID", "1"}}), k_rank_2, "",
     "SLURM_PROCID=1, but MPI says rank 2"},
    {"step_of_another_size_around_mpirun",
     open_mpi(
         {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_PROCID", "2"}}),
     k_rank_2, "", "SLURM_STEP_NUM_TASKS=8, but MPI says size 4"},
    {"step_of_another_rank_around_mpirun",
     open_mpi(
         {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_PROCID", "0"}}),
     k_rank_2, "", "SLURM_PROCID=0, but MPI says rank 2"},
    {"step_on_two_nodes_around_mpirun_on_one",
     open_mpi({{"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NUM_TASKS", "4"},
               {"SLURM_STEP_NUM_NODES", "2"},
               {"SLURM_PROCID", "2"},
               {"SLURM_NODEID", "1"},
               {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}),
     k_rank_2, "", "SLURM_STEP_TASKS_PER_NODE=2(x2), but MPI says 4 ranks on this node"},
    {"step_with_another_local_rank",
     {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"SLURM_LOCALID", "1"}},
     k_rank_2,
     "",
     "SLURM_LOCALID=1, but MPI says local rank 2"},
    {"step_list_of_another_sum",
     {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "3"}},
     k_rank_2,
     "",
     "SLURM_STEP_TASKS_PER_NODE=3, but MPI says 4 ranks in all"},
    {"node_outside_the_list",
     {{"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_PROCID", "2"},
      {"SLURM_NODEID", "5"},
      {"SLURM_STEP_TASKS_PER_NODE", "4"}},
     k_rank_2,
     "",
     "SLURM_NODEID=5"},
};

class Launch : public testing::TestWithParam<Case> {};

TEST_P(Launch, IsChecked) {
  const Case& c = GetParam();
  if (*c.launcher != '\0') {
    EXPECT_EQ(check_launcher(c.variables, c.facts), c.launcher);
    return;
  }
  try {
    check_launcher(c.variables, c.facts);
    FAIL() << "no contradiction was seen";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::disagreement);
    EXPECT_THAT(error.what(), testing::HasSubstr(c.names));
    EXPECT_NE(error.hint(), "");
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Consistent, Launch, testing::ValuesIn(k_consistent), name_of_case);
INSTANTIATE_TEST_SUITE_P(Contradictory, Launch, testing::ValuesIn(k_contradictory), name_of_case);

TEST(LaunchedProcesses, AreThoseOfTheLauncherThatBinds) {
  EXPECT_EQ(launched_processes({}), 1);
  EXPECT_EQ(launched_processes(open_mpi()), 4);
  EXPECT_EQ(launched_processes(open_mpi({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}})), 4);
  EXPECT_EQ(launched_processes({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}}), 1);
  EXPECT_EQ(launched_processes({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PROCID", "1"}}), 3);
}

TEST(TasksPerNode, IsRead) {
  using testing::ElementsAre;
  EXPECT_THAT(parse_tasks_per_node("4"), ElementsAre(4));
  EXPECT_THAT(parse_tasks_per_node("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(parse_tasks_per_node("1,2(x1),16(x2)"), ElementsAre(1, 2, 16, 16));
}

TEST(TasksPerNode, NonsenseIsRefused) {
  for (const char* text : {"", "x", "2(", "2(x", "2(x3", "2(x3)1", "2,", ",2", "0", "-1", "2(x0)", "2(x-1)", "2 (x3)",
                           "99999999999999999999", "1(x999999999)", "1(x1048576),1"}) {
    EXPECT_THROW(parse_tasks_per_node(text), Error) << text;
  }
}

}  // namespace
}  // namespace tessera::mpi
