// lte shares SCHEDULER METRES...
//
// Prints the bytes per second that ns-3's LTE module gives terminals at these distances, each with a full buffer.

#include <iostream>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"

using namespace ns3;

static void place(NodeContainer nodes, const std::vector<double>& metres)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (double x : metres) positions->Add(Vector(x, 0, 0));
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

// As in ns-3's own tests of its schedulers: no errors, and RLC that always has data.
static void shares(const std::string& scheduler, const std::vector<double>& metres)
{
    Config::SetDefault("ns3::LteSpectrumPhy::CtrlErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteSpectrumPhy::DataErrorModelEnabled", BooleanValue(false));
    Config::SetDefault("ns3::LteHelper::UseIdealRrc", BooleanValue(true));
    Config::SetDefault("ns3::LteAmc::AmcModel", EnumValue(LteAmc::PiroEW2010));
    auto lte = CreateObject<LteHelper>();
    lte->SetAttribute("PathlossModel", StringValue("ns3::FriisSpectrumPropagationLossModel"));
    lte->SetSchedulerType("ns3::" + scheduler);
    NodeContainer stations, terminals;
    stations.Create(1);
    terminals.Create(metres.size());
    place(stations, {0});
    place(terminals, metres);
    auto station = lte->InstallEnbDevice(stations);
    auto devices = lte->InstallUeDevice(terminals);
    lte->Attach(devices, station.Get(0));
    lte->ActivateDataRadioBearer(devices, EpsBearer(EpsBearer::GBR_CONV_VOICE));
    auto phy = station.Get(0)->GetObject<LteEnbNetDevice>()->GetPhy();
    phy->SetAttribute("TxPower", DoubleValue(30));
    phy->SetAttribute("NoiseFigure", DoubleValue(5));
    for (uint32_t n = 0; n < devices.GetN(); n++) {
        auto own = devices.Get(n)->GetObject<LteUeNetDevice>()->GetPhy();
        own->SetAttribute("TxPower", DoubleValue(23));
        own->SetAttribute("NoiseFigure", DoubleValue(9));
    }
    const double start = 0.4, time = 2;
    lte->EnableRlcTraces();
    auto stats = lte->GetRlcStats();
    stats->SetAttribute("StartTime", TimeValue(Seconds(start)));
    stats->SetAttribute("EpochDuration", TimeValue(Seconds(time)));
    Simulator::Stop(Seconds(start + time - 0.000001));
    Simulator::Run();
    for (uint32_t n = 0; n < devices.GetN(); n++) {
        auto imsi = devices.Get(n)->GetObject<LteUeNetDevice>()->GetImsi();
        std::cout << stats->GetDlRxData(imsi, 3) / time << std::endl;
    }
}

int main(int count, char** words)
{
    const std::vector<std::string> arguments(words + 1, words + count);
    std::vector<double> metres;
    for (size_t n = 2; n < arguments.size(); n++) metres.push_back(std::stod(arguments[n]));
    shares(arguments.at(1), metres);
    Simulator::Destroy();
}
